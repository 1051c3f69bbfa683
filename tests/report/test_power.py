import numpy as np
import pytest

from posexp.report.estimate import Estimate
from posexp.report.power import MOST_SEEDS, noncentralities, seeds_needed


def difference(mean, spread, text_error=0.0, seeds=3):
    return Estimate(mean, seeds, spread, text_error)


@pytest.mark.parametrize(("effect", "expected"), [(1.0, 10), (0.8, 15), (0.5, 34), (1.5, 6)])
def test_published_sample_sizes(effect, expected):
    """Paired t-test, two-sided 5 %, power 80 %: Faul et al. 2007 (G*Power) for dz = 1, 0.8, ..."""
    assert seeds_needed(difference(effect, 1.0)).observed == expected


def test_the_power_that_is_promised_by_simulation():
    """At n seeds t-tests find it in at least 80 of 100, and in fewer at n - 1."""
    random = np.random.default_rng(0)

    def found(n, runs=20_000):
        values = random.normal(0.7, 1.0, (runs, n))
        t = values.mean(1) / (values.std(1, ddof=1) / np.sqrt(n))
        critical = {18: 2.1098, 19: 2.1009}[n]  # 97.5 % quantiles for 17 and 18 degrees of freedom
        return (np.abs(t) > critical).mean()

    n = seeds_needed(difference(0.7, 1.0)).observed
    assert n == 19
    assert found(n) > 0.79 and found(n - 1) < 0.81 and found(n) > found(n - 1)


def test_a_hundredth_of_a_bit_has_its_own_number():
    needed = seeds_needed(difference(0.5, 0.01))
    assert (needed.observed, needed.hundredth) == (3, 10)


def test_more_than_a_hundred_is_not_a_number():
    assert seeds_needed(difference(0.001, 1.0)).observed is None
    assert seeds_needed(difference(0.0, 0.1)).observed is None
    assert len(noncentralities()) == MOST_SEEDS - 2


def test_the_error_of_the_text_is_there_for_any_number_of_seeds():
    """2.8 standard errors: 1.96 to exceed, and 0.84 to do so four times in five."""
    needed = seeds_needed(difference(0.02, 0.01, text_error=0.01))
    assert needed.text_limit == pytest.approx(0.02802, abs=1e-5)
    assert needed.observed is None
    assert seeds_needed(difference(0.04, 0.01, text_error=0.01)).observed is not None


def test_one_seed_has_no_spread_to_go_by():
    assert seeds_needed(Estimate(0.1, 1)) is None
