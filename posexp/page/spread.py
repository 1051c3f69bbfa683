"""Labels moved apart where they would collide."""

from __future__ import annotations

import numpy as np


def spread(wanted: np.ndarray, gap: float) -> np.ndarray:
    """Ascending places in [0, 1] at least `gap` apart, nearest in squares to ascending `wanted`.

    Isotonic regression of wanted - i gap: neighbours that violate the order are pooled.
    """
    shift = gap * np.arange(len(wanted))
    pools: list[list[float]] = []  # mean, size
    for value in wanted - shift:
        pools.append([float(value), 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            total = pools[-1][1] + size
            pools[-1] = [(pools[-1][0] * pools[-1][1] + mean * size) / total, total]
    places = np.concatenate([np.full(int(size), mean) for mean, size in pools] or [[]])
    # Inside the axes, as long as there is room; the same bounds for all keep the gaps.
    return np.clip(places, 0, max(0.0, 1 - shift[-1])) + shift if len(wanted) else places
