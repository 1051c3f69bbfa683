"""Windows that lie side by side in each document, for the figures that score whole windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posexp.data.documents import Document
from posexp.data.windows import window
from posexp.evaluation.anchors import evenly_spread
from posexp.evaluation.losses import LossRunner

Start = tuple[int, int]
"""Index of a document, and of a window's first target in it."""


def tile_starts(
    documents: Sequence[Document], usable: Sequence[int], length: int, offset: int = 0
) -> list[Start]:
    """Every window of `length` targets that lies in a document, from target 1 + offset on.

    Token 0 is no target: it has nothing before it where windows do not start with BOS.
    """
    return [
        (n, first)
        for n in usable
        for first in range(1 + offset, len(documents[n].tokens) - length + 1, length)
    ]


def sampled_tiles(
    documents: Sequence[Document], usable: Sequence[int], length: int, count: int
) -> list[Start]:
    """At most `count` non-overlapping windows, evenly spread over all of them."""
    tiles = tile_starts(documents, usable, length)
    return [tiles[n] for n in evenly_spread(len(tiles), count)]


def tile_losses(
    runner: LossRunner,
    documents: Sequence[Document],
    starts: Sequence[Start],
    *,
    length: int,
    scored: int,
) -> np.ndarray:
    """Nats of the last `scored` targets of each window: (windows, scored) float64."""

    def tile(n: int) -> tuple[np.ndarray, np.ndarray]:
        document, first = starts[n]
        inputs, targets = window(documents[document].tokens, first, length, runner.bos)
        return inputs, targets[-scored:]

    return runner.losses(tile, len(starts), length)
