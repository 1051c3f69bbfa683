"""Loss as the literature reports it: for comparison with papers, never to rank schemes.

Non-overlapping windows score every position, so that a longer window lowers the figure by itself:
fewer targets stand near its start (the early-token curse of Press, Smith and Lewis 2021,
arXiv:2012.15832). Sliding windows move by a stride and score only as many targets, which all have
at least L - stride tokens before them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posexp.data.documents import Document
from posexp.evaluation.losses import LossRunner, Scored
from posexp.evaluation.places import evenly_spread
from posexp.evaluation.tiles import Start, Tiles, tile_losses


def stride_of(length: int) -> int:
    """The stride of the sliding figure, half a window."""
    return max(1, length // 2)


def sliding_losses(
    runner: LossRunner,
    documents: Sequence[Document],
    longest: int,
    length: int,
    count: int,
    tiles: Scored,
) -> Scored:
    """Targets (windows, stride) of the sliding evaluation on up to `count` windows.

    `tiles` (windows, L) are those of non-overlapping windows. A sliding evaluation runs these
    too, and scores their second halves, so they are a sample of it; windows between them are run
    only while there are fewer than `count`.
    """
    stride = stride_of(length)
    halves = tiles.at(slice(-stride, None))
    between = [Tiles(documents, longest, length, n) for n in range(stride, length, stride)]
    total = sum(tiled.count for tiled in between)
    chosen = evenly_spread(total, max(0, count - len(tiles.nats)))
    if not len(chosen):
        return halves
    starts: list[Start] = []
    first = 0
    for tiled in between:
        here = chosen[(chosen >= first) & (chosen < first + tiled.count)]
        starts += tiled.starts(here - first)
        first += tiled.count
    more = tile_losses(runner, documents, starts, length=length, scored=stride)
    return Scored(*(np.concatenate(pair) for pair in zip(halves, more, strict=True)))


def literature_row(
    length: int, status: str, losses: tuple[Scored, Scored] | None
) -> dict[str, object]:
    """One length's row from (non-overlapping, sliding), null where `status` is not "ok"."""
    figures = [scored.bits_per_byte for scored in losses] if status == "ok" else [None] * 2
    return {
        "length": length,
        "status": status,
        "non_overlapping": figures[0],
        "sliding": figures[1],
        "stride": stride_of(length),
    }
