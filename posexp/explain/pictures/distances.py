"""Scores by the distance of query and key, over places, draws and heads.

Shapes: B draws, H heads, M queries, N distances.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from posexp.catalogue.measure import HEADS
from posexp.explain.meeting import Meeting, standard_normal
from posexp.explain.pictures.picture import Curve
from posexp.explain.study import Kind, Study

#: Queries that look back, from a quarter of the way to the last: fewer where each sees many keys.
QUERIES, LEAST, PAIRS = 24, 8, 24 * 1024
#: Draws of random queries and keys.
DRAWS = 16
#: No curve goes further, unless training does.
FURTHEST = 4096
#: Points of a curve: all distances up to NEAR, then FAR more.
NEAR, FAR = 64, 96


def reach(study: Study) -> int:
    """How many tokens the curves span: twice the trained length, where that is defined."""
    length = study.trained_length
    return study.up_to(min(2 * length, max(length, FURTHEST)))


def distances(study: Study) -> np.ndarray:
    """n = query - key position of every pair that the queries of `looking_back` meet (N,)."""
    far = reach(study) - 1
    return np.arange(0 if study.dims.causal else -far, far + 1)


def looking_back(study: Study) -> list[int]:
    """The queries that are asked."""
    length = reach(study)
    count = max(LEAST, min(QUERIES, PAIRS // length))
    return sorted({round(i) for i in np.linspace((length - 1) // 4, length - 1, count)})


@lru_cache(maxsize=64)
def meetings(study: Study, kind: Kind, random: bool) -> list[Meeting]:
    """Each of `looking_back` with its keys: of DRAWS standard normal inputs, or of one of ones."""
    scheme, dims, length = study.drawn, study.dims, reach(study)
    with torch.no_grad():
        positions = scheme.remap_positions(torch.arange(length))
    ones = torch.ones(1, length, dims.d_model)
    x = standard_normal(dims, DRAWS, length) if random else (ones, ones)
    layer = scheme.for_layer(kind.number)
    return [
        Meeting.of(scheme, layer, dims, *x, positions, query=query) for query in looking_back(study)
    ]


def by_distance(study: Study, rows: list[Tensor]) -> np.ndarray:
    """Rows (..., S) of `looking_back` as (..., M, N) by distance; NaN where nothing is seen."""
    n = distances(study)
    found = np.full((*rows[0].shape[:-1], len(rows), len(n)), np.nan)
    for number, (query, row) in enumerate(zip(looking_back(study), rows, strict=True)):
        place = query - np.arange(row.shape[-1]) - n[0]
        found[..., number, place] = row.masked_fill(~row.isfinite(), torch.nan).numpy()
    return found


def shown_heads(study: Study) -> list[int]:
    """Some heads, spread over all, each the first that its key head serves."""
    firsts = np.arange(0, study.dims.n_heads, study.dims.n_heads // study.dims.n_kv_heads)
    return firsts[_spread(len(firsts), HEADS)].tolist()


def curve(
    name: str, n: np.ndarray, values: np.ndarray, band: tuple[float, float] = (0.0, 1.0)
) -> Curve:
    """The mean of `values` (K, N) at each distance, and the band between two of its quantiles.

    The band is left out where it is nowhere wider than rounding.
    """
    seen = np.isfinite(values).any(0)
    middle, low, high = (np.full(len(n), np.nan) for _ in range(3))
    kept = values[:, seen]
    if kept.size:
        middle[seen] = np.nanmean(kept, 0)
        low[seen], high[seen] = np.nanquantile(kept, band, axis=0)
    width = np.nanmax(high - low, initial=0.0)
    if width <= 1e-4 * max(1.0, np.nanmax(np.abs(middle), initial=0.0)):
        return Curve(name, n, middle)
    return Curve(name, n, middle, low, high)


def at(found: Curve, n: int) -> float:
    """The value at distance n."""
    return float(found.y[int(np.flatnonzero(found.x == n)[0])])


def thinned(found: Curve) -> Curve:
    """The curve at all near distances and at some far ones: what a page can hold."""
    size = np.abs(found.x)
    limit = int(size.max())
    kept = np.arange(min(NEAR, limit + 1))
    if limit >= NEAR:
        kept = np.union1d(kept, np.linspace(NEAR, limit, FAR).round().astype(int))
    at = np.isin(size, kept)
    ends = [None if v is None else v[at] for v in (found.low, found.high)]
    return Curve(found.name, found.x[at], found.y[at], *ends)


def _spread(size: int, most: int) -> np.ndarray:
    return np.linspace(0, size - 1, min(size, most)).round().astype(int)
