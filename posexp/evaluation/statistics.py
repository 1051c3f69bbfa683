"""Sampling error of anchored losses, by bootstrap over chunks and documents.

Neighbouring anchors share text, so single anchors are not independent. Chunks of consecutive
anchors are drawn instead (Kuensch 1989, doi:10.1214/aos/1176347265), of about n^(1/3) anchors each
(Hall, Horowitz and Jing 1995, doi:10.1093/biomet/82.3.561). Where there are several documents,
documents are drawn first. With one document the interval covers text within that document only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
    for name in ("document", "position"):
        if not np.array_equal(first[name], second[name]):
            raise ValueError(
                "the two evaluations have different anchors, so their losses cannot be paired: "
                "evaluate both with the same corpus, split, lengths, targets and anchors"
            )
    a, b = first[key], second[second_key or key]
    differences = (np.asarray(a, np.float64) - np.asarray(b, np.float64)) / math.log(2)
    return Difference(
        bits_per_byte=float(differences.mean()),
        standard_error=standard_error(differences, first["document"]),
        count=len(differences),
    )


def standard_error(
    values: np.ndarray, documents: np.ndarray, resamples: int = _RESAMPLES, seed: int = 0
) -> float | None:
    """Standard error of the mean of `values` (n,), one for each anchor in document order.

    `documents` (n,) says which document each belongs to. None where there is only one chunk.
    """
    values = np.asarray(values, np.float64)
    chunks = [
        np.array_split(values[documents == document], _chunk_count(documents == document))
        for document in np.unique(documents)
    ]
    owned = np.array([len(of_document) for of_document in chunks])
    if owned.sum() == 1:
        return None
    first = np.cumsum(owned) - owned
    sums = np.array([chunk.sum() for of_document in chunks for chunk in of_document])
    sizes = np.array([len(chunk) for of_document in chunks for chunk in of_document])
    random = np.random.default_rng(seed)
    means = np.empty(resamples)
    for r in range(resamples):
        drawn = random.integers(len(owned), size=len(owned))
        choices = np.repeat(owned[drawn], owned[drawn])
        chosen = np.repeat(first[drawn], owned[drawn]) + random.integers(choices)
        means[r] = sums[chosen].sum() / sizes[chosen].sum()
    return float(means.std(ddof=1))


def _chunk_count(mask: np.ndarray) -> int:
    n = int(mask.sum())
    return max(1, round(n / max(1, round(n ** (1 / 3)))))
