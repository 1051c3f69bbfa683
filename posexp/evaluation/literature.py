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
from posexp.evaluation.anchors import evenly_spread
from posexp.evaluation.losses import LossRunner, bits_per_byte
from posexp.evaluation.tiles import Start, tile_losses, tile_starts


def stride_of(length: int) -> int:
    """The stride of the sliding figure, half a window."""
    return max(1, length // 2)


def sliding_losses(
    runner: LossRunner,
    documents: Sequence[Document],
    usable: Sequence[int],
    length: int,
    count: int,
    tiles: np.ndarray,
) -> np.ndarray:
    """Nats (windows, stride) of the sliding evaluation on up to `count` windows.

    `tiles` (windows, L) are the nats of non-overlapping windows. A sliding evaluation runs these
    too, and scores their second halves, so they are a sample of it; windows between them are run
    only while there are fewer than `count`.
    """
    stride = stride_of(length)
    halves = tiles[:, -stride:]
    between: list[Start] = [
        start
        for offset in range(stride, length, stride)
        for start in tile_starts(documents, usable, length, offset)
    ]
    chosen = evenly_spread(len(between), max(0, count - len(tiles)))
    if not len(chosen):
        return halves
    more = tile_losses(
        runner, documents, [between[n] for n in chosen], length=length, scored=stride
    )
    return np.concatenate([halves, more])


def literature_row(
    length: int, status: str, losses: tuple[np.ndarray, np.ndarray] | None
) -> dict[str, object]:
    """One length's row from (non-overlapping, sliding) nats, null where `status` is not "ok"."""
    figures = [bits_per_byte(nats, nats.size) for nats in losses] if status == "ok" else [None] * 2
    return {
        "length": length,
        "status": status,
        "non_overlapping": figures[0],
        "sliding": figures[1],
        "stride": stride_of(length),
    }
