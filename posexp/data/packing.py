"""Packs: documents too short for a window of their own share one, kept apart by their numbers.

A pack has T places. Every document in it starts again at position 0 and is numbered, so that a
model which masks by document number never looks across; the unused tail is one document more, with
nothing to predict.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np

from posexp.data.bos import first_start, window
from posexp.data.tokens import BOS

IGNORED = -100  # the target of a place that is not scored, as torch's cross-entropy has it


def plan_packs(sizes: Sequence[int], capacity: int) -> list[list[int]]:
    """Distribute documents of these sizes over packs of `capacity` places: lists of indices.

    Best fit, longest first (Johnson 1974), which needs at most about 11/9 of the fewest possible
    packs. Deterministic, so a pack is the same in every process. Documents of size 0 are left
    out. Raises `ValueError` for a document that is longer than a pack.
    """
    packs: list[list[int]] = []
    room: list[tuple[int, int]] = []  # (free places, pack), sorted
    for index in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        size = sizes[index]
        if size > capacity:
            raise ValueError(f"a document of {size} tokens is longer than a pack of {capacity}")
        if size < 1:
            continue
        tightest = bisect_left(room, (size, 0))
        if tightest == len(room):
            packs.append([])
            free, pack = capacity, len(packs) - 1
        else:
            free, pack = room.pop(tightest)
        packs[pack].append(index)
        if free > size:
            insort(room, (free - size, pack))
    return packs


def pack_documents(
    documents: Sequence[np.ndarray], context_length: int, bos: str, token: int = BOS
) -> dict[str, np.ndarray]:
    """One pack of whole documents, each of them tokens (N,): four arrays (T,) int64.

    `token` is the id of BOS.

    `inputs` and `targets` as `bos.window` makes them of each document, -100 in the tail;
    `documents` numbers them from 0, the tail last; `positions` restart in each.
    """
    pack = {
        "inputs": np.full(context_length, token, dtype=np.int64),
        "targets": np.full(context_length, IGNORED, dtype=np.int64),
        "documents": np.full(context_length, len(documents), dtype=np.int64),
        "positions": np.zeros(context_length, dtype=np.int64),
    }
    start = first_start(bos)
    end = 0
    for number, tokens in enumerate(documents):
        size = len(tokens) - start
        place = slice(end, end + size)
        pack["inputs"][place], pack["targets"][place] = window(tokens, start, size, bos, token)
        pack["documents"][place] = number
        pack["positions"][place] = np.arange(size)
        end += size
    pack["positions"][end:] = np.arange(context_length - end)
    return pack
