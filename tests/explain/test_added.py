"""What is added to the logits, against numbers worked out by hand."""

import numpy as np
import pytest
import torch

from posexp.explain.pictures.added import added
from posexp.explain.pictures.distances import distances, shown_heads
from posexp.explain.pictures.picture import Absent


def biases(study):
    """The shown heads' curves by distance (heads, N), with the heads' numbers."""
    picture = added(study, study.kinds[0])
    return shown_heads(study), np.stack([curve.y for curve in picture.curves]), picture.sentence


def test_slopes_by_hand(study):
    heads, y, sentence = biases(study("alibi", sizes={"d_model": 64, "n_heads": 8}))
    assert heads == [0, 2, 5, 7]
    n = np.arange(48)
    np.testing.assert_allclose(y, [[-(2.0 ** -(h + 1)) * i for i in n] for h in heads], atol=1e-4)
    assert sentence == (
        "Over these 48 tokens a function of distance alone, and a straight line: "
        "\N{MINUS SIGN}0.5 (head 0) to \N{MINUS SIGN}0.003906 (head 7) for each token."
    )


def test_slopes_of_heads_that_are_no_power_of_two(study):
    heads, y, _ = biases(study("alibi", sizes={"d_model": 48, "n_heads": 6}))
    slopes = np.array([0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125])
    np.testing.assert_allclose(y[:, 10], -10 * slopes[heads], atol=1e-4)


def test_buckets_by_hand(study):
    """Causal, 32 buckets up to 128: the first distance of each, of which the last is 113."""
    buckets = study("t5", length=128)
    with torch.no_grad():  # every bucket another number
        buckets.drawn.table.copy_(torch.arange(32.0)[:, None].expand(-1, 4))
    picture = added(buckets, buckets.kinds[0])
    starts = [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    curve = picture.curves[0]
    expected = [n if n < 16 else 15 + sum(n >= s for s in starts) for n in curve.x]
    np.testing.assert_allclose(curve.y, expected, atol=1e-4)
    assert "From distance 113 on it no longer changes. It has 32 steps in all." in picture.sentence


def test_kernels_by_hand(study):
    """-p ln(1 + a n) for p = 2, a = 1/2; -a n^p for p = a = 1/2."""
    logarithm, power = study("kerple", length=64), study("kerple", power=True)
    with torch.no_grad():
        for scheme, p in ((logarithm.drawn, 2.0), (power.drawn, 0.5)):
            scheme.a.fill_(0.5)
            scheme.p.fill_(p)
    n = distances(logarithm).tolist()
    _, y, _ = biases(logarithm)
    found = y[0, [n.index(i) for i in (1, 10, 100)]]
    np.testing.assert_allclose(found, [-0.81093022, -3.58351894, -7.86365127], atol=1e-5)
    assert biases(power)[1][0, 2] == pytest.approx(-0.70710678, abs=1e-5)


def test_summed_cosines_by_hand(study):
    """sum_k cos(n / 10000^(2k/128)) / (8 h / H), h = 1 ... H."""
    heads, y, _ = biases(study("sandwich", length=64))
    for n, expected in ((0, 64), (1, 62.093684), (10, 42.820023), (100, 30.543455)):
        at = distances(study("sandwich", length=64)).tolist().index(n)
        ratio = 8 * (np.array(heads) + 1) / 4
        np.testing.assert_allclose(y[:, at], expected / ratio, rtol=1e-5)


def test_a_bias_of_both_places_and_one_of_the_scores(foreign, study):
    mine = foreign(
        """
        shift_invariant = False

        def bias(self, q_positions, k_positions):
            n = (q_positions[..., :, None] - k_positions[..., None, :]).float()
            share = n / (q_positions[..., :, None] + 1)
            return -share[..., None, :, :].expand(*share.shape[:-2], self.dims.n_heads, -1, -1)
        """
    )
    picture = added(mine, mine.kinds[0])
    assert picture.sentence.startswith("The same for all q and k, but no function of distance")
    assert picture.curves[0].low[10] == pytest.approx(-10 / 12)  # the query at 11 is the nearest
    vectors = study("shaw")
    assert "depends on q and k" in added(vectors, vectors.kinds[0]).sentence


@pytest.mark.parametrize("name", ["nope", "rope", "sinusoidal"])
def test_nothing_is_added(study, name):
    nothing = study(name)
    assert isinstance(added(nothing, nothing.kinds[0]), Absent)
