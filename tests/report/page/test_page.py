import json
import math
import re

import pytest

from posexp.report.page import report_page

T, LENGTHS = 128, (64, 128, 256, 512, 1024)


@pytest.fixture
def full(sweep, losses):
    """Eight schemes, three seeds whose losses are 0.01 apart."""
    for scheme, means in losses.items():
        for seed in range(3):
            shifted = tuple(mean and mean + 0.01 * (seed - 1) for mean in means)
            sweep.write(scheme, shifted, seed=seed)
    return sweep


def evaluated(job, **changes):
    """Change what a job has recorded of its evaluation."""
    result = json.loads((job / "result.json").read_text())
    result["evaluation"] |= changes
    (job / "result.json").write_text(json.dumps(result))


def rows_of(text):
    """First cell -> the other cells."""
    rows = [[" ".join(cell.split()) for cell in line.split("|")] for line in text.splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) > 2}


def test_the_table_has_every_setting_and_every_seed(full, read, losses):
    table = read(full.path)["table"]
    rows = rows_of(table)
    for scheme, means in losses.items():
        cells = rows[scheme]
        assert cells[1] == "3"
        for cell, mean in zip(cells[2:6], means[1:], strict=True):
            assert cell == "n/a" if mean is None else cell.startswith(f"{mean:.3f} ± ")
    assert table.count("seed 2") == len(losses)
    ranked = sorted(losses, key=lambda scheme: losses[scheme][1])
    assert [rows[scheme][0] for scheme in ranked] == [str(i + 1) for i in range(len(losses))]


def test_the_gain_is_the_loss_at_t_minus_the_longest(full, read, losses):
    rows = rows_of(read(full.path)["table"])
    gain = losses["rope"][1] - losses["rope"][4]
    assert rows["rope"][6].startswith(f"\N{MINUS SIGN}{abs(gain):.3f}")


def test_one_seed_claims_nothing(sweep, read, losses):
    for scheme, means in losses.items():
        sweep.write(scheme, means)
    sections = read(sweep.path)
    assert re.search(r"\d\.\d{3}\s+± \d\.\d{3} text", sections["table"])
    assert "too few seeds" in sections["table"]
    assert "not distinguishable: one seed" in sections["differences"]


def test_the_baseline_is_named_and_how_it_was_chosen(full, read):
    differences = read(full.path)["differences"]
    assert re.search(r"Baseline:\s+rope\s*, the best at T", differences)
    assert "every pair" in differences


def test_a_chosen_baseline_is_said_to_be_one(full, study_of):

    text = report_page(study_of(full.path, baseline="alibi"))
    assert "<strong>alibi</strong>, as asked for." in text


def test_what_went_wrong_is_shown_for_what_it_is(messy_sweep, read):
    sections = read(messy_sweep.path)
    rows = rows_of(sections["table"])
    assert "diverged" in " ".join(rows["raw_index diverged"])
    assert "failed" in " ".join(rows["kaput failed"])
    assert "RuntimeError: [Errno 28] no space left" in sections["failures"]
    assert "console.log" in sections["failures"]


def test_a_loss_that_is_no_number_makes_no_line(sweep, losses, study_of):

    sweep.write("rope", losses["rope"])
    sweep.write("bad", (math.nan,) * 5)
    text = report_page(study_of(sweep.path))
    assert 'data-name="rope"' in text
    assert 'data-name="bad"' not in text
    assert "nan" not in re.sub(r"<(script|style)>.*?</\1>", "", text, flags=re.DOTALL).lower()


def test_a_planted_difference_is_warned_of_at_the_top(sweep, read, losses):
    sweep.write("rope", losses["rope"])
    sweep.write("alibi", losses["alibi"], settings={"optimizer": {"lr": 1e-2}})
    sections = read(sweep.path)
    assert re.search(r"Warning\s+Not like with like.*optimizer\.lr", sections["summary"])
    assert "optimizer.lr" in sections["fairness"]
    assert re.search(r"0\.01\S*: alibi", sections["fairness"])


def test_a_fair_comparison_says_so(full, read):
    assert "Checked" in read(full.path)["fairness"]


def test_sections_without_data_say_why(sweep, read):
    sweep.write("rope", status="running")
    sections = read(sweep.path)
    assert "No job has a loss yet." in sections["length"]
    assert "no setting with a result" in sections["differences"]
    assert "only one setting" in sections["fairness"]
    assert "grid" not in sections


def test_nothing_beyond_t_leaves_nothing_to_control_for(sweep, read, losses):
    job = sweep.write("rope", losses["rope"])
    anchored = json.loads((job / "result.json").read_text())["evaluation"]["anchored"]
    kept = [entry for entry in anchored if entry["length"] <= T]
    evaluated(job, anchored=kept, foreign=[], lengths=[64, 128])
    assert "Nothing was tested beyond T" in read(sweep.path)["controls"]


def test_settings_scored_on_other_targets_stand_apart(sweep, read, losses):
    sweep.write("rope", losses["rope"])
    settings = {"trainer": {"context_length": 64, "max_steps": 1000}}
    other = sweep.write("alibi", losses["alibi"], settings=settings, context_length=64)
    evaluated(other, context_length=64)
    sections = read(sweep.path)
    assert "T = 128" in sections["table"]
    assert "T = 64" in sections["table"]


def test_every_job_can_be_run_again(full, read):
    origins = read(full.path)["origins"]
    assert "rope: 3 jobs" in origins
    assert origins.count("posexp") >= 8
    assert "copy" in origins


def test_names_are_harmless(sweep, losses, study_of):

    sweep.write("<b>", losses["rope"])
    sweep.write("a&b", losses["alibi"])
    text = report_page(study_of(sweep.path))
    assert "<b>" not in text
    assert 'data-name="&lt;b&gt;"' in text
    assert 'data-key="a&amp;b"' in text


def test_a_grid_is_shown_whole_with_its_cost_and_in_the_looks_of_the_table(
    sweep, losses, study_of, read
):
    for scheme in ("rope", "alibi"):
        for lr in (1e-3, 3e-3):
            job = sweep.write(scheme, losses[scheme], settings={"optimizer": {"lr": lr}}, lr=lr)
            result = json.loads((job / "result.json").read_text())
            result["training"]["val_bits_per_byte"] = 2.0 + abs(lr - 3e-3)
            (job / "result.json").write_text(json.dumps(result))
    text = read(sweep.path)["grid"]
    assert "4 jobs" in text
    assert re.search(r"rope\s*\|\s*0\.001\s*\|\s*2\.0020", text)
    assert text.count("chosen") >= 2
    (part,) = study_of(sweep.path).parts

    chart = report_page(study_of(sweep.path)).split('<section id="grid">')[1]
    for row in part.rows:
        assert f'data-key="{row.label}"' in chart
