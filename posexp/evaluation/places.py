"""Places in documents, counted and spread without a list of them: there may be any number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posexp.data.documents import in_chunks

Room = Callable[[np.ndarray], np.ndarray]
"""Lengths of documents (n,) to how many places each of them has, (n,) int64, none below 0."""


def evenly_spread(total: int, count: int) -> np.ndarray:
    """At most `count` of the indices 0 .. total - 1, as far apart as they go; all if they fit."""
    count = min(total, count)
    return (2 * np.arange(count) + 1) * total // (2 * max(count, 1))


def count_places(sizes: np.ndarray, room: Room) -> int:
    """How many places documents of these lengths have together."""
    return sum(int(room(chunk).sum()) for chunk in in_chunks(sizes))


def find_places(sizes: np.ndarray, room: Room, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each chosen place, by its number over all documents: its document, and which of its.

    `chosen` (n,) ascends. Both results are (n,) int64.
    """
    owners, which = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    row = before = 0
    for chunk in in_chunks(sizes):
        rooms = room(chunk)
        ends = before + np.cumsum(rooms)
        here = chosen[slice(*np.searchsorted(chosen, [before, ends[-1]]))]
        owner = np.searchsorted(ends, here, side="right")
        owners.append(row + owner)
        which.append(here - (ends - rooms)[owner])
        row, before = row + len(chunk), int(ends[-1])
    return np.concatenate(owners), np.concatenate(which)
