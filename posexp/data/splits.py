"""The split of documents that come without one. The rule depends on content and names alone.

Three documents or more: whole documents. One tenth of them, at least one, is test, as many are val
and the rest train. They are taken in the order of the SHA-256 of their ids, so neither the order
of files nor their names' alphabet matters. The longest document always trains, so that one big
book among small ones is not held out.

One or two documents: each is cut near 80% and 90% into a train, a val and a test document. A cut
lies at a blank line if there is one within 5% of the text; else at a line's end, else after a
space, else between two characters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from posexp.data.documents import SPLITS, Document

# From the best place for a cut to the worst; the cut is at the end of a match.
BOUNDARIES = tuple(
    re.compile(pattern) for pattern in (rb"\n[ \t\r]*\n", rb"\n", rb" ", rb"(?s).(?![\x80-\xbf])")
)


def assign_splits(documents: Sequence[Document]) -> list[Document]:
    """The documents with a split each: unchanged if they have one, else by the rule above.

    A document without a split has `split=""`. Raises `ValueError` if only some have one, and for
    a text too short to cut.
    """
    without = [d for d in documents if not d.split]
    if not without:
        return list(documents)
    if len(without) < len(documents):
        having = next(d for d in documents if d.split)
        raise ValueError(
            f"document {without[0].id!r} has no split, but {having.id!r} has one "
            f"({having.split}): give every document a split, or none"
        )
    if len(documents) < 3:
        return [piece for document in documents for piece in _cut(document)]
    return _assign_whole(documents)


def stream_splits(documents: Iterable[Document]) -> Iterator[Document]:
    """The same rule for documents that are read once: splits as given, pieces of one or two texts.

    Of three documents or more without a split, each still has `split=""`: the rule for them needs
    all ids, and is `HeldOut`. Raises as `assign_splits`.
    """
    stream = iter(documents)
    first = list(islice(stream, 3))
    if len(first) < 3:
        yield from assign_splits(first)
        return
    for document in chain(first, stream):
        if bool(document.split) != bool(first[0].split):
            assign_splits([first[0], document])  # raises
        yield document


@dataclass(frozen=True)
class HeldOut:
    """Which of many documents are test and val, by the SHA-256 of their ids: `digest` of each.

    A document whose digest is below `test` is test, below `val` it is val, else it is train; so is
    the longest, whose digest is `longest`.
    """

    test: int
    val: int
    longest: int

    @classmethod
    def of(cls, digests: np.ndarray, longest: int) -> HeldOut:
        """The rule for ascending digests (N,) uint64, that of the longest document among them."""
        tenth = max(1, len(digests) // 10)
        place = int(np.searchsorted(digests, np.uint64(longest)))

        def nth(rank: int) -> int:
            rank += rank >= place
            return int(digests[rank]) if rank < len(digests) else 2**64 - 1

        return cls(nth(tenth), nth(2 * tenth), longest)

    def codes(self, digests: np.ndarray) -> np.ndarray:
        """The index in SPLITS of each document, (n,) uint8."""
        test, val, train = (SPLITS.index(name) for name in ("test", "val", "train"))
        rest = np.where(digests < np.uint64(self.val), val, train)
        found = np.where(digests < np.uint64(self.test), test, rest)
        return np.where(digests == np.uint64(self.longest), train, found).astype(np.uint8)


def digest(id: str) -> int:
    """The first 8 bytes of the SHA-256 of an id, as a number."""
    return int.from_bytes(hashlib.sha256(id.encode("utf-8")).digest()[:8], "big")


def _assign_whole(documents: Sequence[Document]) -> list[Document]:
    longest = max(range(len(documents)), key=lambda i: (len(documents[i]), documents[i].id))
    held_out = sorted(
        (i for i in range(len(documents)) if i != longest),
        key=lambda i: hashlib.sha256(documents[i].id.encode("utf-8")).digest(),
    )
    tenth = max(1, len(documents) // 10)
    split = dict.fromkeys(held_out[:tenth], "test")
    split |= dict.fromkeys(held_out[tenth : 2 * tenth], "val")
    return [replace(d, split=split.get(i, "train")) for i, d in enumerate(documents)]


def _cut(document: Document) -> list[Document]:
    raw = np.asarray(document.tokens).astype(np.uint8).tobytes()
    first = _boundary(raw, 80, 1)
    second = _boundary(raw, 90, first + 1)
    ends = (0, first, second, len(raw))
    if not 0 < first < second < len(raw):
        raise ValueError(
            f"document {document.id!r} is too short to be cut into train, val and test: "
            f"it has {len(raw)} bytes"
        )
    return [
        Document(
            f"{document.id}#{split}",
            f"{document.title} ({split})",
            split,
            document.tokens[ends[i] : ends[i + 1]],
        )
        for i, split in enumerate(SPLITS)
    ]


def _boundary(raw: bytes, percent: int, earliest: int) -> int:
    """The best cut within 5% of `percent` of the text, not before `earliest`, or -1."""
    wanted = len(raw) * percent // 100
    low = max(earliest, len(raw) * (percent - 5) // 100)
    high = min(len(raw) - 1, len(raw) * (percent + 5) // 100)
    for pattern in BOUNDARIES:
        # One byte more than is wanted, so that the last pattern sees a character that goes on.
        matches = pattern.finditer(raw, low - 1, high + 1)
        ends = [m.end() for m in matches if low <= m.end() <= high]
        if ends:
            return min(ends, key=lambda end: abs(end - wanted))
    return -1
