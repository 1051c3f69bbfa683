import math

import pytest
import torch
from torch import nn

from posexp import PositionScheme
from posexp.model import ModelConfig, Transformer
from posexp.training.optimizer import (
    check_optimizer,
    learning_rate_factor,
    make_optimizer,
    parameter_groups,
    scale_gradients,
)

SETTINGS = {
    "lr": 0.5, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "warmup_steps": 4,
    "final_lr_fraction": 0.1, "gradient_clip": 1.0,
}  # fmt: skip


class Owner(PositionScheme):
    """Owns a linear layer, an embedding and a bare parameter."""

    def __init__(self, dims):
        super().__init__(None, dims)
        self.mix = nn.Linear(3, 3)
        self.table = nn.Embedding(3, 3)
        self.scale = nn.Parameter(torch.ones(3, 3))


def make_model():
    config = ModelConfig(n_layers=1, d_model=8, n_heads=2, tie_embeddings=False)
    return Transformer(config, Owner(config.dims(4)), 5, 4)


def test_every_parameter_is_in_exactly_one_group_as_documented():
    """P45."""
    model = make_model()
    decayed, plain = parameter_groups(model, 0.1)
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.1, 0.0)
    names = {id(p): name for name, p in model.named_parameters()}
    in_decayed = {names[id(p)] for p in decayed["params"]}
    in_plain = {names[id(p)] for p in plain["params"]}
    block = "blocks.0."
    assert in_decayed == {
        "head.weight",
        *(f"{block}attention.{part}.weight" for part in ("query", "key", "value", "out")),
        *(f"{block}feed_forward.{part}.weight" for part in ("up", "down")),
    }
    assert in_plain == set(names.values()) - in_decayed
    assert len(decayed["params"]) + len(plain["params"]) == len(names)


def test_warm_up_and_cosine():
    def factor(step, warmup=4, steps=12):
        return learning_rate_factor(step, warmup_steps=warmup, max_steps=steps, final_fraction=0.1)

    assert [factor(s) for s in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert factor(4) == 1.0
    assert factor(8) == pytest.approx(0.1 + 0.9 * 0.5)  # half-way down
    assert factor(6) == pytest.approx(0.1 + 0.45 * (1 + math.cos(math.pi / 4)))
    assert factor(12) == factor(99) == pytest.approx(0.1)


@pytest.mark.parametrize("warmup", [12, 100])
def test_a_warm_up_as_long_as_the_run_does_not_divide_by_zero(warmup):
    factors = [
        learning_rate_factor(s, warmup_steps=warmup, max_steps=12, final_fraction=0.1)
        for s in range(13)
    ]
    assert all(0 < f <= 1 for f in factors)
    assert factors[11] == pytest.approx(12 / warmup)


def test_the_optimizer_steps_once_by_hand():
    """AdamW written out: with one step, the update is lr * (sign of g) and decay lr * wd * w."""
    model = make_model()
    optimizer, _ = make_optimizer(model, SETTINGS | {"warmup_steps": 0}, max_steps=10)
    before = model.head.weight.detach().clone()
    gradient = torch.randn_like(before)
    model.head.weight.grad = gradient.clone()
    optimizer.step()
    expected = before * (1 - 0.5 * 0.1) - 0.5 * gradient / (gradient.abs() + 1e-8)
    torch.testing.assert_close(model.head.weight.detach(), expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lr": 0}, "optimizer.lr must be above 0"),
        ({"warmup_steps": -1}, "optimizer.warmup_steps must not be negative"),
        ({"final_lr_fraction": 2}, "in \\[0, 1\\], got 2"),
        ({"gradient_clip": 0}, "above 0 or null, got 0"),
    ],
)
def test_impossible_settings_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        check_optimizer(SETTINGS | change)


def test_gradients_are_scaled_where_there_are_any():
    model = make_model()
    model.head.weight.grad = torch.ones(5, 8)
    scale_gradients(model, torch.tensor(0.25))
    assert model.head.weight.grad.unique().tolist() == [0.25]
    assert model.embedding.weight.grad is None
