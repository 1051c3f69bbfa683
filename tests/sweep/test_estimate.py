from collections import Counter

import pytest
import torch

from posexp.data.load import load_corpus
from posexp.evaluation.trained import evaluate_trained
from posexp.sweep import estimate
from posexp.sweep.estimate import (
    estimate_bytes,
    estimate_seconds,
    evaluated_windows,
    measure_rate,
)
from posexp.training.build import build_model

NEEDLE = {"name": "needle", "needles": 1, "questions": 1, "windows": 5}


def config(**trainer):
    return {
        "model": {"n_layers": 2, "d_model": 64, "causal": True},
        "trainer": {
            "context_length": 64,
            "max_steps": 10,
            "batch_size": 4,
            "accumulate": 1,
            "val_every": None,
            "val_windows": 0,
            "devices": 1,
            "threads": 1,
            "accelerator": "cpu",
            "precision": "32-true",
            **trainer,
        },
        "evaluation": {
            "lengths": [64],
            "foreign_split": None,
            "anchors": 0,
            "curve_windows": 0,
            "literature_windows": 0,
        },
    }


def test_training_flops_against_a_count_of_every_product(monkeypatch):
    """The same model counted by torch's own FLOP counter, attention by its two triangles."""
    monkeypatch.setattr(estimate, "OVERHEAD", 1.0)
    monkeypatch.setattr(estimate, "SECONDS_A_STEP", 0.0)
    monkeypatch.setattr(estimate, "SECONDS_A_JOB", 0.0)
    width, length, layers, batch, steps = 64, 64, 2, 4, 10
    blocks = [
        torch.nn.Sequential(
            *(torch.nn.Linear(width, width, bias=False) for _ in range(4)),
            torch.nn.Linear(width, 4 * width, bias=False),
            torch.nn.Linear(4 * width, width, bias=False),
        )
        for _ in range(layers)
    ]
    model = torch.nn.Sequential(*blocks)
    parameters = sum(p.numel() for p in model.parameters())
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        x = torch.randn(batch * length, width, requires_grad=True)
        model(x).sum().backward()
    # q k^T and weights v, each 2 T^2 D a sequence and layer, half of it visible; backward twice.
    attention = 3 * batch * layers * 2 * (2 * length**2 * width) / 2
    expected = steps * (counter.get_total_flops() + attention)
    assert estimate_seconds(config(), parameters, rate=1.0) == pytest.approx(expected)


def test_more_of_anything_takes_longer_and_devices_share_it():
    base = estimate_seconds(config(), 1000, rate=1e3)
    both_sides = config()
    both_sides["model"]["causal"] = False
    assert estimate_seconds(both_sides, 1000, rate=1e3) > base
    assert estimate_seconds(config(max_steps=20), 1000, rate=1e3) > base
    assert estimate_seconds(config(val_every=5, val_windows=8), 1000, rate=1e3) > base
    assert estimate_seconds(config(devices=2), 1000, rate=1e3) < base
    longer = config()
    longer["evaluation"]["anchors"] = 8
    assert estimate_seconds(longer, 1000, rate=1e3) > base


@pytest.mark.parametrize(
    ("evaluation", "sections"),
    [
        ({}, {}),
        ({"foreign_split": None, "curve_windows": 2}, {}),
        ({"literature_windows": 3}, {"task": NEEDLE}),
        ({}, {"objective": {"name": "mlm", "rate": 0.5, "replace": "mask"}}),
    ],
)
def test_the_windows_of_an_evaluation_are_those_that_the_model_reads(
    make_config, evaluation, sections
):
    """The task's too: a model counts them."""
    given = make_config(evaluation=evaluation, **sections)
    given["model"]["causal"] = "objective" not in given
    model, read = build_model(given), Counter()
    model.register_forward_pre_hook(
        lambda module, inputs: read.update({inputs[0].shape[1]: inputs[0].shape[0]})
    )
    evaluate_trained(model, load_corpus(given["data"]), given)
    assert evaluated_windows(given) == read
    assert set(read) == {8, 16, 32, 64, 128}
    more = estimate_seconds(given, 1000, 1e6)
    given["evaluation"]["anchors"] += 1
    assert estimate_seconds(given, 1000, 1e6) > more


def test_disk_is_the_checkpoints_one_more_and_a_little():
    assert estimate_bytes(10**9) == 2 * 10**9 + 2_000_000
    assert estimate_bytes(10**9, kept=3) == 4 * 10**9 + 2_000_000


def test_the_rate_is_a_positive_number_and_leaves_the_threads_alone():
    before = torch.get_num_threads()
    assert measure_rate(config()) > 0
    assert torch.get_num_threads() == before
