"""What several seeds say: their mean, their spread, and an interval for the mean.

The spread over seeds (another initialisation, another data order) is a different uncertainty from
the sampling error of the test text, so the two are never added up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# The 97.5 % quantile of Student's t for 1, 2, ... degrees of freedom.
T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True)
class SeedSummary:
    """`spread` is the standard deviation over seeds (n - 1), None for one seed; `half_width` that
    of the 95 % t-interval of the mean, None for fewer than three."""

    n: int
    mean: float
    spread: float | None
    half_width: float | None


def summarize(values: Sequence[float]) -> SeedSummary | None:
    """Summary of one number a seed; None for no numbers at all."""
    n = len(values)
    if n == 0:
        return None
    mean = math.fsum(values) / n
    if n == 1:
        return SeedSummary(1, mean, None, None)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half_width = t_975(n - 1) * spread / math.sqrt(n) if n >= 3 else None
    return SeedSummary(n, mean, spread, half_width)


def t_975(freedom: int) -> float:
    """The 97.5 % quantile of Student's t; beyond the table by its expansion about the normal."""
    if freedom <= len(T_975):
        return T_975[freedom - 1]
    z = 1.959964
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
