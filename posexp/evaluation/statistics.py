"""Sampling error of anchored losses, by bootstrap over chunks or documents.

Neighbouring anchors share text, so single anchors are not independent. Chunks of consecutive
anchors are drawn instead (Kuensch 1989, doi:10.1214/aos/1176347265), of about sqrt(n) anchors each:
with Student's t over as many chunks, longer chunks cover better than the n^(1/3) that minimises the
error of the variance (Flegal and Jones 2010, doi:10.1214/09-AOS735). Where there are several
documents, they are drawn whole: to draw chunks inside them as well would count the error within
documents twice (Davison and Hinkley 1997, section 3.8). With one document the interval covers text
within that document only.

Over 1,000 simulated texts 95 % intervals from these errors covered the truth in 93 to 96 % for one
document, whose neighbouring anchors were correlated by 0.3 or 0.6: chunks miss what is correlated
across their ends. Over 4 and 40 documents it was 95 and 96 %. The plain bootstrap, 1.96 times an
error without the factor for few units, covered 60 % over two documents, 80 % over four, and 84 to
93 % over one (of 600 texts each).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_RESAMPLES = 1000


@dataclass(frozen=True)
class Difference:
    """Mean of first minus second over `count` shared anchors, in bits per byte.

    `standard_error` is None where a bootstrap has nothing to draw from (one chunk).
    """

    bits_per_byte: float
    standard_error: float | None
    count: int

    @property
    def significant(self) -> bool:
        """Whether it is at least three of its standard errors; never with an unknown one."""
        if self.standard_error is None:
            return False
        return self.bits_per_byte != 0 and abs(self.bits_per_byte) >= 3 * self.standard_error


class Resamples:
    """Draws from one layout of anchors, made once for every mean that is taken over it.

    `documents` (n,) says which document each anchor belongs to, in document order. Units are drawn:
    documents, or the chunks of the only one. `freedom` is that of Student's t for an interval: one
    less than the units, and for documents of unequal size than their effective number (Kish,
    n^2 / sum of n_i^2), at least 1.
    """

    def __init__(self, documents: np.ndarray, resamples: int = _RESAMPLES, seed: int = 0) -> None:
        _, sizes = np.unique(documents, return_counts=True)
        if len(sizes) == 1:
            sizes = np.array([len(p) for p in np.array_split(documents, _chunk_count(sizes[0]))])
        self.units = len(sizes)
        self.freedom = max(1.0, float(sizes.sum() ** 2 / (sizes**2).sum()) - 1)
        self._order = np.argsort(documents, kind="stable")
        self._first = np.cumsum(sizes) - sizes
        # How often each unit is in each resample: (resamples, units).
        random = np.random.default_rng(seed)
        even = np.full(self.units, 1 / self.units)
        self._weights = random.multinomial(self.units, even, size=resamples).astype(np.float64)
        self._totals = self._weights @ sizes

    def standard_error(self, values: np.ndarray) -> float | None:
        """Standard error of the mean of `values` (n,); None where there is only one unit.

        The spread of the resampled means, times sqrt(u / (u - 1)) for u units: without it the error
        of few is too small.
        """
        if self.units == 1:
            return None
        sums = np.add.reduceat(np.asarray(values, np.float64)[self._order], self._first)
        means = self._weights @ sums / self._totals
        return float(means.std(ddof=1) * math.sqrt(self.units / (self.units - 1)))


def resamples(documents: np.ndarray) -> Resamples:
    """The draws for this layout of anchors: the same object for every job that was scored on it."""
    return _resamples(np.ascontiguousarray(documents, np.int64).tobytes())


@lru_cache(maxsize=16)
def _resamples(documents: bytes) -> Resamples:
    return Resamples(np.frombuffer(documents, np.int64))


def paired_difference(
    first: Mapping[str, np.ndarray],
    second: Mapping[str, np.ndarray],
    key: str,
    second_key: str | None = None,
) -> Difference:
    """Compare two models, or one at two lengths, anchor by anchor.

    `first` and `second` are the arrays that `evaluate` gives (nats per target of each anchor);
    `key` names one of them, such as "anchored_128". The difference is in bits per target, which is
    bits per byte for byte tokens. Raises `ValueError` where the anchors are not the same, and
    `KeyError` where a length has no losses.
    """
    differences = paired(first, second, key, second_key)
    return Difference(
        bits_per_byte=float(differences.mean()),
        standard_error=standard_error(differences, first["document"]),
        count=len(differences),
    )


def paired(
    first: Mapping[str, np.ndarray],
    second: Mapping[str, np.ndarray],
    key: str,
    second_key: str | None = None,
) -> np.ndarray:
    """The differences that `paired_difference` averages: (n,) bits per target, one an anchor."""
    for name in ("document", "position"):
        if not np.array_equal(first[name], second[name]):
            raise ValueError(
                "the two evaluations have different anchors, so their losses cannot be paired: "
                "evaluate both with the same corpus, split, lengths, targets and anchors"
            )
    a, b = first[key], second[second_key or key]
    return (np.asarray(a, np.float64) - np.asarray(b, np.float64)) / math.log(2)


def standard_error(values: np.ndarray, documents: np.ndarray) -> float | None:
    """Standard error of the mean of `values` (n,), one for each anchor in document order.

    `documents` (n,) says which document each belongs to. None where there is only one chunk.
    """
    return resamples(documents).standard_error(values)


def t_quantile(probability: float, freedom: float) -> float:
    """The quantile of Student's t, for whole and broken degrees of freedom."""
    # scipy.stats.t is made of these functions, and costs a second to import.
    from scipy.special import stdtrit

    return float(stdtrit(freedom, probability))


def _chunk_count(n: int) -> int:
    return max(1, round(n / max(1, round(math.sqrt(n)))))
