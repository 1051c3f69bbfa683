"""The score of a query and a key by their distance: of fixed ones, and of random ones."""

from __future__ import annotations

import numpy as np

from posexp.explain.pictures.distances import (
    at,
    by_distance,
    curve,
    distances,
    meetings,
    reach,
    shown_heads,
    thinned,
)
from posexp.explain.pictures.picture import Absent, Curve, Picture, short
from posexp.explain.study import Kind, Study

#: A mean that changes by less than this share is called flat.
FLAT = 0.05
#: What the band of random scores holds.
BAND = (0.1, 0.9)


def fixed(study: Study, kind: Kind) -> Picture | Absent:
    """Scores of q = k = 1 in every column; the band is over places of the pair."""
    found = meetings(study, kind, random=False)
    values = by_distance(study, [m.scores[0, :, 0] for m in found])  # (H, M, N)
    curves = _heads(study, values)
    return Picture(_of_fixed(study, curves) + _length(study), [thinned(c) for c in curves])


def random(study: Study, kind: Kind) -> Picture | Absent:
    """The mean of |score| of standard normal q and k; the band holds four fifths of them."""
    found = meetings(study, kind, random=True)
    values = by_distance(study, [m.scores[:, :, 0] for m in found])  # (B, H, M, N)
    n = distances(study)
    values = values.reshape(-1, len(n))
    size, signed = curve("mean |score|", n, np.abs(values), BAND), curve("mean", n, values)
    near, far = (_mean(size, *part) for part in _parts(study))
    text = f"Mean |score| is {short(near)} near"
    if np.isnan(far):
        text += ", and nothing is seen far away."
    elif abs(far - near) <= FLAT * near:
        text += f" and {short(far)} towards T: no decay for random q and k."
    else:
        text += (
            f" and {short(far)} towards T: it {'falls' if far < near else 'grows'} with distance"
        )
        start, end = (_mean(signed, *part) for part in _parts(study))
        # A bias moves all scores one way; only their size is drawn.
        moved = abs(end - start) > FLAT * near
        text += f", as the mean score goes from {short(start)} to {short(end)}." if moved else "."
    return Picture(text + _length(study), [thinned(size)])


def _length(study: Study) -> str:
    if not study.drawn.length_dependent:
        return ""
    return f" It depends on the length of the pass; this one has {reach(study):,} tokens."


def _heads(study: Study, values: np.ndarray) -> list[Curve]:
    """A curve for each shown head of (H, M, N); one for all where they agree."""
    n, heads = distances(study), shown_heads(study)
    first = values[heads[0]]
    if np.allclose(values[heads], first, atol=1e-5, equal_nan=True):
        return [curve("every head" if len(heads) > 1 else "the head", n, first)]
    return [curve(f"head {head}", n, values[head]) for head in heads]


def _of_fixed(study: Study, curves: list[Curve]) -> str:
    last = study.up_to(study.trained_length) - 1
    ends = [(c, at(c, 0), at(c, last)) for c in curves]
    c, start, end = ends[0]
    name = "" if len(curves) == 1 else f"{c.name}: "
    if np.isnan(end):
        unseen = int(c.x[(c.x > 0) & np.isnan(c.y)].min())
        return f"{name}{short(start)} at distance 0; nothing is seen from distance {unseen} on."
    past = (c.x >= 0) & (c.x <= last)
    y = c.y[past]
    steps = np.diff(y)
    size = 1e-4 * max(1.0, np.abs(y).max())
    text = f"{name}{short(start)} at distance 0, {short(end)} at {last}"
    if (np.abs(y - y[0]) <= size).all():
        text = f"{name}{short(start)} at every distance up to {last}"
    elif (steps <= size).all():
        text += ", falling all the way"
    elif (steps >= -size).all():
        text += ", growing all the way"
    else:
        text += f", not monotone: it first rises at distance {int(np.argmax(steps > size)) + 1}"
    if len(curves) > 1:
        text += f"; {ends[-1][0].name}: {short(ends[-1][1])} and {short(ends[-1][2])}"
    wide = [np.nanmax(c.high - c.low) for c in curves if c.low is not None]
    if wide:
        text += (
            f". At one distance it differs by up to {short(max(wide))} with the place of the pair"
        )
    return text + "."


def _parts(study: Study) -> tuple[tuple[int, int], tuple[int, int]]:
    """Near: the first eighth of T. Far: the last quarter of it."""
    length = study.up_to(study.trained_length)
    return (1, max(2, length // 8)), (3 * length // 4, length)


def _mean(found: Curve, start: int, stop: int) -> float:
    y = found.y[(found.x >= start) & (found.x < stop)]
    return float(np.nanmean(y)) if np.isfinite(y).any() else float("nan")
