"""Loss by position in a window of the longest length.

Different positions have different targets: the shape is to be read, not small differences.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from posexp.evaluation.losses import Scored

_PER_OCTAVE = 2


def position_buckets(longest: int, context_length: int) -> list[tuple[int, int]]:
    """First and last position (from 0) of log-spaced buckets over 0 .. Lmax - 1.

    Position i sees i + 1 inputs. Two buckets an octave, counted from the training length T, which
    is therefore always an edge: no bucket mixes positions that training saw with others.
    """
    octaves = np.arange(
        -_PER_OCTAVE * int(np.log2(context_length)),
        _PER_OCTAVE * (int(np.log2(longest / context_length)) + 1) + 1,
    )
    edges = np.rint(context_length * 2.0 ** (octaves / _PER_OCTAVE)).astype(int)
    edges = np.unique(np.concatenate([[0], edges[edges < longest], [longest]]))
    return [(int(a), int(b) - 1) for a, b in pairwise(edges)]


def position_curve(
    scored: Scored | None, longest: int, context_length: int
) -> list[dict[str, Any]]:
    """Mean bits per byte of each bucket from targets (windows, Lmax).

    `None`, or losses that are not finite, give the buckets with null and the count of targets.
    """
    rows = []
    for first, last in position_buckets(longest, context_length):
        bucket = None if scored is None else scored.at(slice(first, last + 1))
        count = 0 if bucket is None else bucket.nats.size
        value = bucket.bits_per_byte if bucket is not None and bucket.sizes.sum() else None
        if value is not None and not np.isfinite(value):
            value = None
        rows.append({"first": first, "last": last, "bits_per_byte": value, "count": int(count)})
    return rows
