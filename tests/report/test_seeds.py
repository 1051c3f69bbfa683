import math
import statistics

import numpy as np
import pytest

from posexp.report.seeds import summarize, t_975


def upper_tail(t, freedom):
    """P(T > t) of Student's t by Simpson's rule on its density, after x = t + u / (1 - u)."""
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    constant /= math.sqrt(freedom * math.pi)
    u = np.linspace(0, 1, 200_001)[:-1]
    x = t + u / (1 - u)
    density = constant * (1 + x**2 / freedom) ** (-(freedom + 1) / 2) / (1 - u) ** 2
    return np.trapezoid(density, u)


@pytest.mark.parametrize("freedom", [2, 3, 4, 9, 17, 30, 31, 60, 500])
def test_t_quantiles_leave_a_fortieth_above_them(freedom):
    assert upper_tail(t_975(freedom), freedom) == pytest.approx(0.025, abs=2e-5)


def test_one_seed_has_no_spread_and_two_no_interval():
    assert summarize([]) is None
    one, two = summarize([2.5]), summarize([2.0, 3.0])
    assert (one.n, one.mean, one.spread, one.half_width) == (1, 2.5, None, None)
    assert two.spread == pytest.approx(statistics.stdev([2.0, 3.0]))
    assert two.half_width is None


def test_three_seeds():
    """The textbook interval: mean ± 4.303 s / sqrt(3)."""
    values = [2.1, 2.2, 2.6]
    found = summarize(values)
    assert found.mean == pytest.approx(2.3)
    assert found.half_width == pytest.approx(4.303 * statistics.stdev(values) / 3**0.5)
