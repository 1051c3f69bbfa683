"""A checkpoint of one scheme evaluated with another that extends it."""

import json

import pytest
import torch

from posexp.evaluation.checkpoint import apply_overrides, evaluate_checkpoint, load_model
from posexp.evaluation.extension import extended, extends
from posexp.job import COMPLETED, run_job
from posexp.training.checkpoints import read_checkpoint

ROPE = {"name": "rope", "theta": 500.0, "layout": "half", "fraction": 0.5}


@pytest.fixture
def job(make_config, tmp_path):
    evaluation = {"lengths": [8, 16, 48], "curve_windows": 1}
    config = make_config(scheme=ROPE, evaluation=evaluation)
    assert run_job(tmp_path / "job", config) == COMPLETED
    return tmp_path / "job"


def losses(evaluation):
    return {row["length"]: row["bits_per_byte"] for row in evaluation["anchored"]}


def test_the_extension_is_evaluated_on_the_same_weights(job, capsys):
    """Dynamic NTK is RoPE up to the training length of 16, and something else beyond it."""
    trained = losses(json.loads((job / "result.json").read_text())["evaluation"])
    record = evaluate_checkpoint(job, ["scheme=dynamic_ntk", "scheme.factor=2"])
    found = losses(record["evaluation"])
    assert found[8] == trained[8] and found[16] == trained[16]
    assert found[48] != trained[48]
    assert record["scheme"]["name"] == "dynamic_ntk" and record["scheme"]["theta"] == 500.0
    assert "dynamic_ntk at step 6" in capsys.readouterr().out
    assert json.loads((job / "evaluation-1.json").read_text())["scheme"] == record["scheme"]


def test_the_training_length_is_that_of_the_checkpoint(job):
    checkpoint = read_checkpoint(job)
    words = ["scheme=yarn", "scheme.factor=8", "evaluation.lengths=[16,64]"]
    config = apply_overrides(checkpoint["posexp"]["config"], words)
    assert config["evaluation"]["lengths"] == [16, 64]
    model = load_model(config, checkpoint)
    assert model.scheme.trained_length == 16
    assert model.scheme.config.factor == 8.0
    weights = model.state_dict()
    for name, weight in checkpoint["state_dict"].items():
        assert torch.equal(weights[name.removeprefix("model.")], weight)


def test_what_both_have_keeps_its_trained_value():
    found = extended(ROPE, ["scheme.factor=2", "scheme=yarn"])
    assert {key: found[key] for key in ROPE if key != "name"} == {
        key: value for key, value in ROPE.items() if key != "name"
    }
    assert found["name"] == "yarn" and found["factor"] == 2.0 and found["convention"] == "code"
    assert extends(found, ROPE)
    assert not extends({**found, "layout": "interleaved"}, ROPE)
    assert not extends(found, {"name": "nope"})
    # What a config leaves out is its default, not open.
    assert not extends(found, {"name": "rope"})


@pytest.mark.parametrize(
    ("trained", "words", "said"),
    [
        (
            ROPE,
            ["scheme.theta=2"],
            "scheme.theta is fixed.*scheme=dynamic_ntk or .* or yarn can take",
        ),
        (ROPE, ["scheme=alibi"], "alibi does not extend rope.*dynamic_ntk or .* or yarn"),
        (ROPE, ["scheme=yarn", "scheme.layout=interleaved"], "scheme.layout=half is fixed"),
        ({"name": "rope"}, ["scheme=yarn", "scheme.theta=2"], "scheme.theta=10000.0 is fixed"),
        (ROPE, ["scheme=yarn", "scheme.facotr=2"], "did you mean 'factor'"),
        (ROPE, ["scheme=yarn", "scheme.factor=0"], "factor must be at least 1"),
        ({"name": "t5"}, ["scheme=yarn"], "yarn does not extend t5.*nothing extends it"),
    ],
)
def test_mistakes(trained, words, said):
    with pytest.raises(ValueError, match=said):
        extended(trained, words)
