"""How many seeds a difference would need: the power of a paired t-test, turned around."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np

from posexp.report.estimate import FEWEST_SEEDS, LEVEL, Estimate, SeedsNeeded

POWER = 0.8
MOST_SEEDS = 100
HUNDREDTH = 0.01  # bits per byte


def seeds_needed(difference: Estimate) -> SeedsNeeded | None:
    """For a difference over seeds; None where its spread is unknown.

    The least n for which d^2 >= (c_n s)^2 / n + (2.80 e)^2: s is the spread over seeds, c_n the
    noncentrality that gives a two-sided t-test of n pairs its power, e the error of the text, which
    more seeds leave as it is.
    """
    if difference.spread is None:
        return None
    # With endless seeds t is normal: 1.96 + 0.84.
    normal = NormalDist().inv_cdf((1 + LEVEL) / 2) + NormalDist().inv_cdf(POWER)
    limit = normal * (difference.text_error or 0.0)

    def least(size: float) -> int | None:
        n = np.arange(FEWEST_SEEDS, MOST_SEEDS + 1)
        found = np.hypot(noncentralities() * difference.spread / np.sqrt(n), limit)
        enough = np.flatnonzero(size >= found)
        return int(n[enough[0]]) if len(enough) and size > 0 else None

    return SeedsNeeded(least(abs(difference.mean)), least(HUNDREDTH), limit)


@cache
def noncentralities() -> np.ndarray:
    """For n = 3 .. 100 pairs, the mean over its standard error that a t-test finds in 80 %.

    What the noncentral t distribution needs to leave 20 % below the critical value; below the
    lower one it then leaves nothing.
    """
    from scipy.special import nctdtrinc, stdtrit

    freedom = np.arange(FEWEST_SEEDS, MOST_SEEDS + 1) - 1.0
    return nctdtrinc(freedom, 1 - POWER, stdtrit(freedom, (1 + LEVEL) / 2))
