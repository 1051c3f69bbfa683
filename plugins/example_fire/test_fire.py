import numpy as np
import posexp_fire
import pytest
import torch

from posexp import AttentionDims, build_scheme
from posexp.testing import parametrize_checks


@parametrize_checks("fire")
def test_conformance(check):
    check()


def fire(n_heads=2, **parameters):
    """The scheme with weights of f that are not alike, c and L where they start."""
    scheme = build_scheme({"name": "fire", **parameters}, AttentionDims(4 * n_heads, n_heads))
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in scheme.named_parameters():
            scheme.init_parameter(name, parameter, generator)
    return scheme


@pytest.mark.parametrize(
    ("n", "i", "expected"), [(10, 100, 0.17525480), (10, 1000, 0.15019048), (0, 7, 0.0)]
)
def test_input_by_hand(n, i, expected):
    """i counts from 1, positions from 0."""
    found = fire().relative(torch.tensor([i - 1]), torch.tensor([i - 1 - n]))
    assert found.item() == pytest.approx(expected, abs=1e-7)


def test_against_numpy():
    """Small c and L, so that positions lie on both sides of L."""
    scheme = fire(n_heads=3, width=5, c=0.7, threshold=6.0)
    positions = [0, 3, 5, 6, 40]
    found = scheme.bias(torch.tensor(positions), torch.tensor(positions))
    w = {name: p.detach().double().numpy() for name, p in scheme.named_parameters()}
    for h, t, s in np.ndindex(3, 5, 5):
        i, j = positions[t] + 1, positions[s] + 1
        x = np.log(0.7 * abs(i - j) + 1) / np.log(0.7 * max(6, i) + 1)
        hidden = np.maximum(w["hidden_weight"][:, 0] * x + w["hidden_bias"], 0)
        assert found[h, t, s].item() == pytest.approx(w["weight"][h] @ hidden, abs=1e-6)


def test_a_distance_weighs_less_further_out_but_only_beyond_the_threshold():
    scheme = fire(threshold=50.0)
    x = [scheme.relative(torch.tensor([p]), torch.tensor([p - 10])).item() for p in (20, 49, 50)]
    assert x[0] == x[1] > x[2]


def test_c_and_the_threshold_learn():
    scheme = fire()
    positions = torch.arange(8)
    scheme.bias(positions, positions).square().sum().backward()
    assert scheme.c.grad.abs() > 0 and scheme.multiplier.grad.abs() > 0


@pytest.mark.parametrize("parameters", [{"width": 0}, {"c": -0.1}, {"threshold": 0.0}])
def test_refusals(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"fire: {name} must be positive"):
        posexp_fire.FireConfig(**parameters)
