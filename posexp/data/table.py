"""Which windows there are: every (document, offset) pair in a table that training draws from.

Long documents come first, each with the running number of pairs up to its end; then packs of the
documents that are too short for a window, in the same way. A draw is a binary search. For
documents in files the table is in files as well, made once and mapped from then on, so that ten
times the tokens take no more memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from posexp.data.bos import count_windows, first_start
from posexp.data.documents import Document, MappedDocuments, in_chunks, lengths, map_array
from posexp.data.kept import WHOLE, kept
from posexp.data.packing import plan_packs

COLUMNS = ("long", "long_ends", "packed", "pack_sizes", "pack_ends")
#: Short documents are packed among so many neighbours, so that planning takes little memory.
NEIGHBOURS = 2**16


@dataclass(frozen=True, eq=False)
class WindowTable:
    """All int64. `long` (L,) and `packed` (P,) are indices of documents.

    `long_ends` (L,) and `pack_ends` (K,) are the ends of each long document's and each pack's share
    of the pairs; pack k holds `packed[pack_sizes[k - 1] : pack_sizes[k]]`, `pack_sizes` (K,) being
    running totals, too.
    """

    long: np.ndarray
    long_ends: np.ndarray
    packed: np.ndarray
    pack_sizes: np.ndarray
    pack_ends: np.ndarray
    kept: Any = field(default=None, repr=False)  # deletes files that nobody else has

    @property
    def pairs(self) -> int:
        """The number of pairs, the weights of packs among them."""
        ends = self.pack_ends if len(self.pack_ends) else self.long_ends
        return int(ends[-1]) if len(ends) else 0

    def find(self, pair: int) -> tuple[int, int] | list[int]:
        """The document and the offset of a pair, or the documents of its pack."""
        longest = int(self.long_ends[-1]) if len(self.long_ends) else 0
        if pair < longest:
            n = int(np.searchsorted(self.long_ends, pair, side="right"))
            return int(self.long[n]), pair - (int(self.long_ends[n - 1]) if n else 0)
        k = int(np.searchsorted(self.pack_ends, pair, side="right"))
        first = int(self.pack_sizes[k - 1]) if k else 0
        return self.packed[first : int(self.pack_sizes[k])].tolist()


def window_table(documents: Sequence[Document], context_length: int, bos: str) -> WindowTable:
    """The table of these documents for windows of `context_length` targets under a BOS rule.

    One pair for each window of a long document. A pack of k targets weighs as k pairs, so that a
    token in a full pack is seen as often as one in a long document (a window covers T tokens, and T
    windows cover a token).
    """
    sizes = lengths(documents)
    if not isinstance(documents, MappedDocuments):
        found: dict[str, list[np.ndarray]] = {name: [] for name in COLUMNS}
        for part in _parts(sizes, context_length, bos):
            for name, values in part.items():
                found[name].append(values)
        return WindowTable(
            **{n: np.concatenate(v) if v else np.empty(0, np.int64) for n, v in found.items()}
        )
    named = f"{documents.name}-{context_length}-{bos}"
    place = None if documents.home is None else documents.home / named
    directory, temporary = kept(
        place, lambda directory: _write(_parts(sizes, context_length, bos), directory)
    )
    counts = json.loads((directory / WHOLE).read_text())
    columns = {name: map_array(directory / f"{name}.bin", "<i8") for name in COLUMNS}
    if {name: len(column) for name, column in columns.items()} != counts:
        raise ValueError(f"{directory} is damaged; delete it, and it is made again")
    return WindowTable(**columns, kept=temporary)


def _parts(sizes: np.ndarray, context_length: int, bos: str) -> Iterator[dict[str, np.ndarray]]:
    """The columns, piece by piece: all long documents, then the packs."""
    row = pairs = 0
    for chunk in in_chunks(sizes):
        counts = count_windows(chunk, context_length, bos)
        long = np.flatnonzero(counts)
        ends = pairs + np.cumsum(counts[long], dtype=np.int64)
        yield {"long": row + long, "long_ends": ends}
        pairs = int(ends[-1]) if len(ends) else pairs
        row += len(chunk)
    packed = 0
    for rows in _short(sizes, context_length, bos):
        targets = sizes[rows] - first_start(bos)
        packs = plan_packs(targets.tolist(), context_length)
        if not packs:
            continue
        members = np.array([n for pack in packs for n in pack], dtype=np.int64)
        ends = np.cumsum([len(pack) for pack in packs], dtype=np.int64)
        weights = np.cumsum(targets[members])[ends - 1]
        yield {"packed": rows[members], "pack_sizes": packed + ends, "pack_ends": pairs + weights}
        packed += len(members)
        pairs += int(weights[-1])


def _short(sizes: np.ndarray, context_length: int, bos: str) -> Iterator[np.ndarray]:
    """The indices of documents without a window, up to NEIGHBOURS at a time."""
    waiting, row = np.empty(0, dtype=np.int64), 0
    for chunk in in_chunks(sizes):
        short = count_windows(chunk, context_length, bos) == 0
        waiting = np.concatenate([waiting, row + np.flatnonzero(short)])
        row += len(chunk)
        while len(waiting) >= NEIGHBOURS:
            yield waiting[:NEIGHBOURS]
            waiting = waiting[NEIGHBOURS:]
    if len(waiting):
        yield waiting


def _write(parts: Iterator[dict[str, np.ndarray]], directory: Path) -> None:
    counts = dict.fromkeys(COLUMNS, 0)
    files = {name: (directory / f"{name}.bin").open("wb") for name in COLUMNS}
    try:
        for part in parts:
            for name, values in part.items():
                values.astype("<i8").tofile(files[name])
                counts[name] += len(values)
    finally:
        for file in files.values():
            file.close()
    (directory / WHOLE).write_text(json.dumps(counts))
