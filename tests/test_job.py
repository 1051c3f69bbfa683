import csv
import json
import math
import os
import signal

import numpy as np
import pytest
import torch

from posexp.job import COMPLETED, FAILED, INTERRUPTED, main, resume_job, run_job
from posexp.training.checkpoints import LAST, model_weights, read_checkpoint
from posexp.training.module import LanguageModule

HARD = {
    "trainer": {"accumulate": 2, "precision": "bf16-mixed", "workers": 0},
    "model": {"dropout": 0.1},
}


def weights(directory):
    return model_weights(read_checkpoint(directory))


def assert_equal_weights(a, b):
    assert a.keys() == b.keys()
    for name in a:
        assert torch.equal(a[name], b[name]), name


def status(directory):
    return json.loads((directory / "status.json").read_text())


@pytest.fixture
def heeds_ctrl_c():
    """A suite that a shell started with `&` ignores SIGINT, and so would its jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def die_at(monkeypatch):
    """Make the training process fail without warning at its n-th micro-batch."""

    def arm(n, action):
        original, calls = LanguageModule.training_step, iter(range(10**9))

        def step(self, batch, batch_idx):
            if next(calls) == n:
                action()
            return original(self, batch, batch_idx)

        monkeypatch.setattr(LanguageModule, "training_step", step)

    return arm


def raise_error():
    raise RuntimeError("the lights went out")


def test_a_job_leaves_its_whole_record(make_config, tmp_path):
    directory = tmp_path / "job"
    assert run_job(directory, make_config(scheme={"name": "rope"})) == COMPLETED
    assert status(directory)["status"] == "completed"
    result = json.loads((directory / "result.json").read_text())
    facts = result["facts"]
    # What differs silently between papers.
    for fact in (
        "logit_scale", "scheme.fraction", "scheme.layout", "n_heads", "embedding_scale", "dropout",
        "bos", "parameters", "tokens_seen", "lr", "lr_choice", "precision", "kernel", "plugin",
        "version.torch", "corpus_fingerprint",
    ):  # fmt: skip
        assert facts.get(fact) is not None or fact.startswith("scheme."), fact
    assert facts["tokens_seen"] == 6 * 4 * 16
    assert facts["logit_scale"] == pytest.approx(1 / math.sqrt(8))
    assert [row["length"] for row in result["evaluation"]["anchored"]] == [8, 16, 32, 64, 128]
    anchors = np.load(directory / "anchors.npz")
    for row in result["evaluation"]["anchored"]:
        mean = anchors[f"anchored_{row['length']}"].mean() / math.log(2)
        assert row["bits_per_byte"] == pytest.approx(mean)
    with (directory / "metrics.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    steps = [int(row["step"]) for row in rows]
    assert float(rows[-1]["eval/bits_per_byte_16"]) > 0
    assert steps == sorted(steps)  # P35


def test_a_checkpoint_opens_with_plain_torch_and_says_where_it_is_from(make_config, tmp_path):
    """P38."""
    config = make_config(scheme={"name": "rope", "layout": "half"})
    run_job(tmp_path / "job", config)
    checkpoint = torch.load(tmp_path / "job" / LAST, weights_only=True)
    recorded = checkpoint["posexp"]
    assert recorded["config"] == config
    assert recorded["plugin"]["distribution"] == "posexp"
    assert len(recorded["corpus"]["fingerprint"]) == 64
    assert "=" not in str(LAST)


def test_nothing_is_run_over_an_earlier_run(make_config, tmp_path):
    config = make_config()
    run_job(tmp_path / "job", config)
    before = (tmp_path / "job" / "result.json").read_bytes()
    with pytest.raises(ValueError, match="already holds a run.*--resume"):
        run_job(tmp_path / "job", config)
    assert (tmp_path / "job" / "result.json").read_bytes() == before


@pytest.mark.parametrize("at", [0, 3, 7, 11])
@pytest.mark.parametrize("scheme", ["rope", "t5"])
def test_a_resumed_run_equals_an_uninterrupted_one(make_config, tmp_path, die_at, scheme, at):
    """P37: killed between checkpoints and within a step, with dropout, bfloat16 and accumulation.

    Checkpoints are at steps 2, 4 and 6, that is after micro-batches 4, 8 and 12.
    """
    config = make_config(scheme={"name": scheme}, **HARD)
    run_job(tmp_path / "whole", config)
    die_at(at, raise_error)
    assert run_job(tmp_path / "broken", config) == FAILED
    assert "the lights went out" in status(tmp_path / "broken")["error"]
    assert resume_job(tmp_path / "broken") == COMPLETED
    assert_equal_weights(weights(tmp_path / "whole"), weights(tmp_path / "broken"))
    whole, broken = (
        torch.load(tmp_path / name / LAST, weights_only=True) for name in ("whole", "broken")
    )
    assert whole["lr_schedulers"] == broken["lr_schedulers"]
    assert whole["global_step"] == broken["global_step"] == 6


def test_a_resumed_run_keeps_its_tracked_run_and_its_metrics(make_config, tmp_path, die_at):
    """P36: the id is in the checkpoint."""
    die_at(5, raise_error)
    run_job(tmp_path / "job", make_config())
    run_id = read_checkpoint(tmp_path / "job")["posexp"]["run_id"]
    before = (tmp_path / "job" / "metrics.csv").read_text()
    resume_job(tmp_path / "job")
    assert read_checkpoint(tmp_path / "job")["posexp"]["run_id"] == run_id
    assert (tmp_path / "job" / "metrics.part1.csv").read_text() == before


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_saves_after_the_step_and_says_how_to_go_on(make_config, tmp_path, die_at, capsys):
    config = make_config(**HARD)
    run_job(tmp_path / "whole", config)
    die_at(4, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert run_job(tmp_path / "job", config) == INTERRUPTED
    assert status(tmp_path / "job")["status"] == "interrupted"
    assert read_checkpoint(tmp_path / "job")["global_step"] == 3
    assert f"posexp train --resume {tmp_path / 'job'}" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert resume_job(tmp_path / "job") == COMPLETED
    assert_equal_weights(weights(tmp_path / "whole"), weights(tmp_path / "job"))


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_a_second_ctrl_c_stops_at_once_and_is_recorded(make_config, tmp_path, die_at, capsys):
    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    die_at(5, twice)
    assert run_job(tmp_path / "job", make_config()) == INTERRUPTED
    assert status(tmp_path / "job")["status"] == "interrupted"
    assert "go on from the last checkpoint" in capsys.readouterr().out
    assert resume_job(tmp_path / "job") == COMPLETED
    result = json.loads((tmp_path / "job" / "result.json").read_text())
    assert result["training"]["resumed"] is True


def test_a_resume_refuses_another_corpus(make_config, tmp_path, die_at, text):
    die_at(5, raise_error)
    run_job(tmp_path / "job", make_config())
    text.write_text(text.read_text().replace('"text": "', '"text": "x'))
    with pytest.raises(ValueError, match="not the one that this run was trained on"):
        resume_job(tmp_path / "job")


def test_a_resume_warns_of_another_version(make_config, tmp_path, die_at, capsys):
    die_at(5, raise_error)
    run_job(tmp_path / "job", make_config())
    path = tmp_path / "job" / "provenance.json"
    recorded = json.loads(path.read_text())
    recorded["versions"]["torch"] = "1.0"
    path.write_text(json.dumps(recorded))
    assert resume_job(tmp_path / "job") == COMPLETED
    assert "torch was 1.0 and is" in capsys.readouterr().err


def test_a_completed_run_is_not_run_again(make_config, tmp_path, capsys):
    run_job(tmp_path / "job", make_config())
    before = (tmp_path / "job" / LAST).read_bytes()
    assert resume_job(tmp_path / "job") == COMPLETED
    assert "already completed" in capsys.readouterr().out
    assert (tmp_path / "job" / LAST).read_bytes() == before
    with pytest.raises(ValueError, match="holds no run"):
        resume_job(tmp_path)


def test_divergence_is_a_result_and_not_a_failure(make_config, tmp_path):
    """P44."""
    config = make_config(optimizer={"lr": 1e30, "gradient_clip": None, "warmup_steps": 0})
    assert run_job(tmp_path / "job", config) == COMPLETED
    assert status(tmp_path / "job")["status"] == "diverged"
    text = (tmp_path / "job" / "result.json").read_text()
    assert "NaN" not in text
    rows = json.loads(text)["evaluation"]["anchored"]
    assert {(row["status"], row["bits_per_byte"]) for row in rows} == {("diverged", None)}


def test_main_runs_a_directory_and_records_what_is_wrong_with_it(make_config, tmp_path):
    job = tmp_path / "job"
    job.mkdir()
    assert main([str(job)]) == FAILED
    assert "no config.json" in status(job)["error"]
    (job / "config.json").write_text(json.dumps(make_config()))
    assert main([str(job)]) == COMPLETED
    assert main([str(job)]) == COMPLETED  # and finds nothing to do


@pytest.mark.parametrize("written", [False, True])
def test_another_rank_joins_and_writes_nothing(make_config, tmp_path, monkeypatch, written):
    """It may look before the first rank has written its record, or after: the same either way."""
    config = make_config()
    directory = tmp_path / "job"
    run_job(directory, config)
    (directory / "status.json").unlink()
    if not written:
        (directory / "provenance.json").unlink()
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    joined = []
    monkeypatch.setattr("posexp.job._recorded", lambda *given: joined.append(given) or COMPLETED)
    monkeypatch.setenv("RANK", "1")
    assert main([str(directory)]) == COMPLETED
    ((_, its_config, _, _, checkpoint),) = joined
    assert its_config == config
    assert checkpoint == directory / LAST
    after = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert after == before


def test_another_rank_of_a_job_that_has_ended_has_nothing_to_do(
    make_config, tmp_path, monkeypatch, capsys
):
    run_job(tmp_path / "job", make_config())
    capsys.readouterr()
    monkeypatch.setenv("RANK", "1")
    assert main([str(tmp_path / "job")]) == COMPLETED
    assert capsys.readouterr().out == ""
