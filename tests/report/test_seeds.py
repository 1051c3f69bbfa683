import math
import statistics

import pytest

from posexp.report.estimate import Interval
from posexp.report.seeds import Error, estimate, p_of_zero


def test_one_seed_has_no_spread_and_two_no_interval_over_seeds():
    assert estimate([]) is None
    one, two = estimate([2.5]), estimate([2.0, 3.0])
    assert (one.seeds, one.mean, one.spread, one.over_seeds, one.both) == (1, 2.5, None, None, None)
    assert two.spread == pytest.approx(statistics.stdev([2.0, 3.0]))
    assert two.over_seeds is None and two.both is None


def test_three_seeds():
    """The textbook interval: mean ± 4.303 s / sqrt(3)."""
    values = [2.1, 2.2, 2.6]
    found = estimate(values)
    assert found.mean == pytest.approx(2.3)
    half = 4.3027 * statistics.stdev(values) / 3**0.5
    assert found.over_seeds.half_width == pytest.approx(half, rel=1e-4)
    assert found.both is None  # the text's error is unknown


def test_the_text_has_an_interval_of_its_own_also_for_one_seed():
    found = estimate([2.5], Error(0.01, 15))
    assert found.over_text.half_width == pytest.approx(2.1314 * 0.01, rel=1e-4)
    assert found.over_text.low == pytest.approx(2.5 - 0.021314, abs=1e-6)
    assert found.widest_known is found.over_text


def test_half_widths_of_seeds_and_text_add_in_squares():
    values = [2.0, 2.1, 2.3]
    found = estimate(values, Error(0.2, 15))
    seeds, text = 4.3027 * statistics.stdev(values) / 3**0.5, 2.1314 * 0.2
    assert found.both.half_width == pytest.approx(math.hypot(seeds, text), rel=1e-4)
    assert (found.text_error, found.text_freedom) == (0.2, 15)


def test_either_error_alone_leaves_its_own_interval():
    seeds_alone = estimate([2.0, 2.1, 2.3], Error(0.0, 15))
    assert seeds_alone.both.half_width == pytest.approx(seeds_alone.over_seeds.half_width)
    text_alone = estimate([2.0, 2.0, 2.0], Error(0.1, 15))
    assert text_alone.both.half_width == pytest.approx(text_alone.over_text.half_width)


def test_p_is_that_of_a_one_sample_t_test_where_the_text_has_no_error():
    from scipy import stats

    for values in ([0.02, 0.05, 0.03, 0.06], [-0.4, -0.41, -0.39]):
        expected = stats.ttest_1samp(values, 0).pvalue
        assert p_of_zero(estimate(values, Error(0.0, 15))) == pytest.approx(expected, rel=1e-6)


def test_p_is_the_level_whose_interval_ends_at_zero():
    """Against Student's t for each part at that level."""
    from scipy import stats

    values, text = [0.02, 0.05, 0.03], Error(0.01, 7)
    p = p_of_zero(estimate(values, text))
    seeds = stats.t.isf(p / 2, 2) * statistics.stdev(values) / 3**0.5
    assert math.hypot(seeds, stats.t.isf(p / 2, 7) * 0.01) == pytest.approx(sum(values) / 3)


def test_p_without_any_error_or_without_an_interval():
    assert p_of_zero(estimate([0.125] * 3, Error(0.0, 15))) == 0
    assert p_of_zero(estimate([0.0] * 3, Error(0.0, 15))) == 1
    assert p_of_zero(estimate([-0.1, 0.0, 0.1], Error(0.1, 15))) == 1
    assert p_of_zero(estimate([0.1, 0.2], Error(0.1, 15))) is None
    assert p_of_zero(estimate([0.1, 0.2, 0.3])) is None
    assert p_of_zero(None) is None


def test_an_interval_covers_its_ends():
    assert Interval(-1, 2).covers(-1) and Interval(-1, 2).covers(2)
    assert not Interval(-1, 2).covers(2.1)
