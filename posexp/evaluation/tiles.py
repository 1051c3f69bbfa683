"""Windows that lie side by side in each document, for the figures that score whole windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posexp.data.documents import Document, lengths
from posexp.data.windows import window
from posexp.evaluation.losses import LossRunner, Scored
from posexp.evaluation.places import count_places, evenly_spread, find_places

Start = tuple[int, int]
"""Index of a document, and of a window's first target in it."""


@dataclass(frozen=True)
class Tiles:
    """Every window of `length` targets in documents of more than `longest`, from 1 + offset on.

    Token 0 is no target: it has nothing before it where windows do not start with BOS.
    """

    documents: Sequence[Document]
    longest: int
    length: int
    offset: int = 0

    def _room(self, sizes: np.ndarray) -> np.ndarray:
        fit = np.maximum(0, sizes - 1 - self.offset) // self.length
        return np.where(sizes > self.longest, fit, 0)

    @cached_property
    def count(self) -> int:
        """How many there are."""
        return count_places(lengths(self.documents), self._room)

    def starts(self, chosen: np.ndarray) -> list[Start]:
        """The windows of these numbers, which ascend."""
        owners, which = find_places(lengths(self.documents), self._room, chosen)
        firsts = 1 + self.offset + which * self.length
        return list(zip(owners.tolist(), firsts.tolist(), strict=True))


def sampled_tiles(
    documents: Sequence[Document], longest: int, length: int, count: int
) -> list[Start]:
    """At most `count` non-overlapping windows, evenly spread over all of them."""
    tiles = Tiles(documents, longest, length)
    return tiles.starts(evenly_spread(tiles.count, count))


def tile_losses(
    runner: LossRunner,
    documents: Sequence[Document],
    starts: Sequence[Start],
    *,
    length: int,
    scored: int,
) -> Scored:
    """The last `scored` targets of each window: nats and bytes, each (windows, scored)."""

    def tile(n: int) -> tuple[np.ndarray, np.ndarray]:
        document, first = starts[n]
        inputs, targets = window(
            documents[document].tokens, first, length, runner.bos, runner.token
        )
        return inputs, targets[-scored:]

    return Scored(runner.losses(tile, len(starts), length), runner.sizes(tile, len(starts)))
