"""What is added to the logits, by distance and head."""

from __future__ import annotations

import numpy as np

from posexp.explain.pictures.decay import BAND
from posexp.explain.pictures.distances import (
    by_distance,
    curve,
    distances,
    meetings,
    shown_heads,
    thinned,
)
from posexp.explain.pictures.picture import Absent, Picture, short
from posexp.explain.study import Kind, Study
from posexp.page import number
from posexp.testing.compare import TOLERANCE


def added(study: Study, kind: Kind) -> Picture | Absent:
    """The logits less q·k, at each distance: a bias, or what vectors and functions of scores make.

    The mean over random q and k and over places. The band is all that was seen of a bias, and four
    fifths of what depends on q and k.
    """
    values = added_values(study, kind)
    if not np.nanmax(np.abs(values), initial=0.0) > TOLERANCE:
        return Absent("it adds nothing to the logits")
    n, heads = distances(study), shown_heads(study)
    if not _is_bias(values):
        # Of every head at once: bands over one another cannot be told apart.
        pooled = curve("every head", n, values.reshape(-1, len(n)), BAND)
        size = np.nanmean(np.abs(values))
        text = (
            f"It depends on q and k: {short(size)} on average, of either sign; four fifths lie "
            "within the band."
        )
        return Picture(text, [thinned(pooled)])
    curves = [curve(f"head {head}", n, values[:, head].reshape(-1, len(n))) for head in heads]
    if all(c.low is None for c in curves):
        text = _of_bias(n, np.stack([c.y for c in curves]), heads)
    else:
        wide = max(np.nanmax(c.high - c.low) for c in curves if c.low is not None)
        text = (
            "The same for all q and k, but no function of distance alone: it differs by up to "
            f"{short(wide)} with the place of the pair."
        )
    return Picture(text, [thinned(c) for c in curves])


def added_values(study: Study, kind: Kind) -> np.ndarray:
    """(B, H, M, N) of every draw, head, query and distance."""
    found = meetings(study, kind, random=True)
    return by_distance(study, [(m.scores - m.content)[:, :, 0] for m in found])


def _is_bias(values: np.ndarray) -> bool:
    """Whether it is the same for all draws."""
    return np.allclose(values, values[:1], rtol=0, atol=1e-4, equal_nan=True)


def _of_bias(n: np.ndarray, y: np.ndarray, heads: list[int]) -> str:
    """A sentence on a pure function of distance y (heads, N)."""
    past = (n >= 0) & np.isfinite(y).all(0)
    n, y = n[past], y[:, past]
    size = 1e-5 * max(1.0, np.abs(y).max())
    slopes = (y[:, -1] - y[:, 0]) / max(1, n[-1] - n[0])
    ends = [0] if len(heads) == 1 else [0, -1]
    start = f"Over these {n[-1] + 1:,} tokens a function of distance alone"
    straight = np.abs(y - y[:, :1] - slopes[:, None] * (n - n[0])).max() <= 10 * size
    if straight:
        told = " to ".join(f"{number(slopes[i])} (head {heads[i]})" for i in ends)
        return f"{start}, and a straight line: {told} for each token."
    changes = np.flatnonzero((np.abs(np.diff(y, axis=1)) > size).any(0)) + 1
    told = "; ".join(
        f"head {heads[i]}: {short(y[i, 0])} at distance {n[0]}, {short(y[i, -1])} at {n[-1]}"
        for i in ends
    )
    text = f"{start}: {told}."
    if len(changes) and n[changes[-1]] < n[-1]:
        text += f" From distance {n[changes[-1]]} on it no longer changes."
    if len(changes) < len(n) - 1:
        text += f" It has {len(changes) + 1} steps in all."
    return text
