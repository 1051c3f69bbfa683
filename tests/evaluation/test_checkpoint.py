import json

import pytest
import torch

from posexp.evaluation.checkpoint import apply_overrides, evaluate_checkpoint, load_model
from posexp.job import run_job
from posexp.training.checkpoints import read_checkpoint


@pytest.fixture
def job(make_config, tmp_path):
    run_job(tmp_path / "job", make_config(scheme={"name": "rope"}))
    return tmp_path / "job"


def test_a_checkpoint_evaluates_to_what_training_found(job, capsys):
    again = evaluate_checkpoint(job)
    first = json.loads((job / "result.json").read_text())["evaluation"]
    assert again["evaluation"] == first
    assert json.loads((job / "evaluation-1.json").read_text())["evaluation"] == first
    assert f"{first['anchored'][0]['bits_per_byte']:.3f}" in capsys.readouterr().out


def test_other_lengths_are_kept_beside_the_first(job):
    evaluate_checkpoint(job)
    record = evaluate_checkpoint(job / "checkpoints" / "last.ckpt", ["evaluation.lengths=[16,48]"])
    assert [row["length"] for row in record["evaluation"]["anchored"]] == [16, 48]
    assert (job / "evaluation-1.json").exists()
    assert (job / "evaluation-2.json").exists()


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("scheme.layout=half", "scheme.layout is fixed by the checkpoint"),
        ("evaluation.anchor=3", "did you mean 'anchors'"),
        ("evaluation", "not of the form"),
        ("data.bos=none", "data.bos=window is fixed"),
    ],
)
def test_what_the_weights_have_fixed_cannot_change(make_config, override, words):
    with pytest.raises(ValueError, match=words):
        apply_overrides(make_config(), [override])


def test_weights_do_not_load_into_another_pair_layout(job):
    """P04: both layouts have the same weights and different meanings."""
    checkpoint = read_checkpoint(job)
    config = checkpoint["posexp"]["config"]
    tokens = torch.zeros(1, 4, dtype=torch.long)
    assert load_model(config, checkpoint)(tokens).shape == (1, 4, 257)
    other = {**config, "scheme": {"name": "rope", "layout": "half"}}
    with pytest.raises(ValueError, match=r"trained with scheme=.*not .*'half'"):
        load_model(other, checkpoint)


def test_a_task_is_measured_again_and_shown(make_config, tmp_path, capsys):
    needle = {"name": "needle", "needles": 1, "questions": 1, "windows": 8}
    run_job(tmp_path / "job", make_config(task=needle))
    again = evaluate_checkpoint(tmp_path / "job")["evaluation"]
    assert again == json.loads((tmp_path / "job" / "result.json").read_text())["evaluation"]
    assert len(again["task"]["rows"]) == 16
    shown = capsys.readouterr().out
    assert "needle" in shown and "8 windows a row; chance 0.038" in shown
