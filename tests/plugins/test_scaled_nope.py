"""The factor on queries: Llama 4's numbers, Qwen's, and what it leaves alone."""

import math

import pytest
import torch

from posexp import AttentionDims, build_scheme
from posexp.evaluation.extension import extended

DIMS = AttentionDims(d_model=32, n_heads=4, context_length=16)


def scheme(**parameters):
    return build_scheme({"name": "scaled_nope", **parameters}, DIMS)


@pytest.mark.parametrize(
    ("position", "factor"),
    [(0, 1.0), (8190, 1.0), (8191, 1.06931472), (16383, 1.10986123), (1_000_000, 1.48121844)],
)
def test_the_factor_of_llama_4(position, factor):
    q = torch.randn(1, 4, 1, 8, dtype=torch.float64)
    scaled = scheme(interval=8192).transform_query(q, torch.tensor([position]))
    torch.testing.assert_close(scaled, q * factor, atol=1e-7, rtol=1e-8)


def test_the_logarithm_of_qwen():
    """Its code: log_N of the 1-based position beyond N, 1 up to there."""
    positions = torch.arange(40)
    found = scheme(form="log", interval=16).factor(positions, torch.float64)
    expected = [math.log(p, 16) if p > 16 else 1.0 for p in range(1, 41)]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_it_begins_where_training_ended():
    factor = scheme().factor(torch.arange(33), torch.float64)
    assert factor[:15].eq(1).all()
    assert factor[15:31].eq(1 + 0.1 * math.log(2)).all()
    assert factor[31] == 1 + 0.1 * math.log(3)


def test_rows_of_positions_and_keys():
    built, q = scheme(interval=2), torch.randn(2, 4, 3, 8)
    rows = torch.tensor([[0, 1, 2], [5, 6, 7]])
    found = built.transform_query(q, rows)
    for row in range(2):
        alone = built.transform_query(q[row : row + 1], rows[row])
        assert torch.equal(found[row : row + 1], alone)
    assert built.acts_on == {"transform_query"}
    assert built.transform_key(q, rows) is q


def test_positions_beyond_bfloat16():
    q = torch.ones(1, 1, 1, 8, dtype=torch.bfloat16)
    found = scheme(interval=8192, strength=10.0).transform_query(q, torch.tensor([8191]))
    assert found.dtype == torch.bfloat16
    assert abs(found[0, 0, 0, 0].item() - (1 + 10 * math.log(2))) < 0.04


def test_it_takes_the_place_of_a_trained_nope():
    """With the training length as N, nothing changes within it."""
    found = extended({"name": "nope"}, ["scheme=scaled_nope", "scheme.form=log"])
    assert found == {"name": "scaled_nope", "form": "log", "interval": None, "strength": 0.1}
    built, q = build_scheme(found, DIMS), torch.randn(1, 4, 16, 8)
    assert torch.equal(built.transform_query(q, torch.arange(16)), q)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"form": "step"}, "form is steps or log, got 'step'"),
        ({"interval": 1}, "interval must be at least 2, got 1"),
        ({"strength": -0.1}, "must not be negative"),
        ({"form": "log", "strength": 0.2}, "strength belongs to form=steps"),
    ],
)
def test_refusals(parameters, words):
    with pytest.raises(ValueError, match=words):
        scheme(**parameters)
