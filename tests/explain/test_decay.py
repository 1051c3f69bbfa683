"""Scores by distance: of fixed queries and keys by the equation, of random ones by statistics."""

import math

import numpy as np
import pytest

from posexp.explain.pictures.decay import fixed, random
from posexp.explain.pictures.distances import curve, distances, looking_back, reach, thinned


def test_fixed_scores_are_a_sum_of_cosines(study):
    """q = k = 1: sum_k 2 cos(n w_k) / sqrt(d)."""
    turned = study("rope")
    picture = fixed(turned, turned.kinds[0])
    w = 10000.0 ** (-np.arange(4) / 4)
    expected = 2 * np.cos(np.arange(48)[:, None] * w).sum(1) / math.sqrt(8)
    (found,) = picture.curves
    np.testing.assert_allclose(found.y, expected, atol=1e-4)
    assert found.low is None
    rises = int(np.argmax(np.diff(expected) > 0)) + 1
    assert f"not monotone: it first rises at distance {rises}" in picture.sentence


def test_random_scores_do_not_decay_where_fixed_ones_do(study):
    turned = study("rope", length=128, sizes={"d_model": 128})
    low = fixed(turned, turned.kinds[0]).curves[0].y[127]
    assert low < 0.4 * math.sqrt(32)
    picture = random(turned, turned.kinds[0])
    assert picture.sentence.endswith("no decay for random q and k.")
    # |N(0, 1)| has the mean sqrt(2 / pi); q·k / sqrt(d) is nearly normal.
    np.testing.assert_allclose(picture.curves[0].y[:128].mean(), math.sqrt(2 / math.pi), rtol=0.05)


def test_a_bias_moves_all_scores_one_way(study):
    picture = random(*first(study("alibi", length=128)))
    assert "grows with distance, as the mean score goes from" in picture.sentence


def test_what_knows_no_position_is_flat(study):
    nothing = study("nope")
    assert "2.83 at every distance up to 23" in fixed(*first(nothing)).sentence


def test_beyond_a_window_nothing_is_seen(study):
    near = study("nope", span={"window": 5})
    picture = fixed(*first(near))
    assert "nothing is seen from distance 5 on" in picture.sentence
    assert np.isnan(picture.curves[0].y[5:]).all()
    assert "nothing is seen far away" in random(*first(near)).sentence


def test_the_place_of_a_pair_is_a_band(study):
    added = fixed(*first(study("raw_index")))
    assert "differs by up to" in added.sentence
    assert added.curves[0].low is not None


def test_a_length_that_counts_is_told(study):
    longer = fixed(*first(study("dynamic_ntk")))
    assert longer.sentence.endswith("It depends on the length of the pass; this one has 48 tokens.")


def test_curves_span_twice_the_training_or_what_is_defined(study):
    assert reach(study("nope")) == 48
    assert reach(study("learned")) == 24
    assert looking_back(study("nope"))[-1] == 47
    both = study("nope", sizes={"causal": False})
    assert distances(both).tolist() == list(range(-47, 48))


def test_a_mean_and_a_band_without_what_is_not_seen():
    values = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])
    found = curve("x", np.arange(3), values)
    assert found.y.tolist()[:2] == [2.0, 5.0]
    assert np.isnan(found.y[2])
    assert found.low.tolist()[:2] == [1.0, 5.0]
    assert found.high.tolist()[:2] == [3.0, 5.0]
    assert curve("x", np.arange(2), np.ones((3, 2))).low is None
    assert np.isnan(curve("x", np.arange(2), np.full((3, 2), np.nan)).y).all()


@pytest.mark.parametrize("length", [10, 2000])
def test_a_long_curve_keeps_every_near_distance(length):
    found = thinned(curve("x", np.arange(length), np.arange(length)[None] * 1.0))
    assert found.x.tolist()[: min(64, length)] == list(range(min(64, length)))
    assert found.x[-1] == length - 1
    assert len(found.x) <= 160
    assert (found.x == found.y).all()


def first(study):
    return study, study.kinds[0]
