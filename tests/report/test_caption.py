import json

from posexp.report.caption import caption, tokens_seen
from posexp.report.comparison import compare
from posexp.report.jobs import Job, read_jobs


def test_the_caption_says_what_a_quick_look_is(messy_sweep):
    text = "\n".join(caption(compare(read_jobs(messy_sweep.path))[0]))
    for words in (
        *("austen, test split", "T = 128", "1.02M tokens seen", "64 anchors x 32 targets"),
        *("bos=window", "One seed:", "under three of them: within noise"),
    ):
        assert words in text


def test_several_seeds_take_the_warning_away(sweep):
    for seed in range(3):
        sweep.write("rope", (2.0,) * 5, seed=seed)
    text = "\n".join(caption(compare(read_jobs(sweep.path))[0]))
    assert "One seed" not in text and "3 seeds" in text


def test_what_the_verdicts_are_corrected_for(sweep):
    for seed in range(3):
        for scheme, loss in (("rope", 2.0), ("alibi", 2.1), ("t5", 2.2)):
            sweep.write(scheme, (loss,) * 5, seed=seed)
    jobs = read_jobs(sweep.path)
    by_data = "\n".join(caption(compare(jobs)[0]))
    assert "Holm's correction for 3 comparisons (every pair: the data chose" in by_data
    chosen = "\n".join(caption(compare(jobs, "t5")[0]))
    assert "Minus t5: paired" in chosen and "correction for 2 comparisons." in chosen


def test_the_grid_and_what_it_cost(sweep):
    for scheme in ("rope", "alibi"):
        for lr, val in ((1e-3, 2.0), (3e-3, 1.9)):
            path = sweep.write(scheme, (2.0,) * 5, settings={"optimizer": {"lr": lr}})
            result = json.loads((path / "result.json").read_text())
            result["training"]["val_bits_per_byte"] = val
            (path / "result.json").write_text(json.dumps(result))
    text = "\n".join(caption(compare(read_jobs(sweep.path))[0]))
    assert "optimizer.lr chosen for each scheme by the mean validation loss" in text
    assert "The grid: 4 jobs, 4.1M tokens, 160 s of training." in text


def test_tokens_seen_is_a_range_where_jobs_differ(tmp_path):
    def job(n):
        facts = {} if n is None else {"tokens_seen": n}
        return Job("j", tmp_path, "completed", result={"facts": facts})

    assert tokens_seen([job(2_000_000), job(1_024_000), job(None)]) == "1.02M to 2M"
    assert tokens_seen([job(512), job(512)]) == "512"
    assert tokens_seen([job(None)]) == "?"
