"""What a corpus is: documents, each in one split, and a fingerprint of all of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from posexp.data.tokens import DTYPE
from posexp.registry import nearest

SPLITS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Document:
    """One text: `tokens` (N,) uint16 without BOS, possibly a view of a memory-mapped file.

    `split` is train, val or test, or "" until `posexp.data.splits` has given it one.
    """

    id: str
    title: str
    split: str
    tokens: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents in a fixed order. Build one with `Corpus.of`, which computes the fingerprint."""

    name: str
    documents: tuple[Document, ...] = field(repr=False)
    fingerprint: str

    @classmethod
    def of(cls, name: str, documents: Sequence[Document]) -> Corpus:
        """A corpus of these documents, with its fingerprint."""
        return cls(name, tuple(documents), fingerprint(documents))

    def split(self, name: str) -> tuple[Document, ...]:
        """The documents of one split, in order; empty if it has none.

        Raises `ValueError` for a name that is not train, val or test.
        """
        return tuple(d for d in self.documents if d.split == check_split(name))


def check_split(name: str) -> str:
    """`name` itself if it is a split. Raises `ValueError` otherwise."""
    if name not in SPLITS:
        close = nearest(name, SPLITS) if isinstance(name, str) else ""
        raise ValueError(f"there is no split {name!r}{close}; a split is {', '.join(SPLITS)}")
    return name


def fingerprint(documents: Iterable[Document]) -> str:
    """SHA-256 over the id, split and tokens of every document, in order.

    Titles are left out: they change no result. Each part is preceded by its length, so that no two
    corpora share a byte stream.
    """
    digest = hashlib.sha256()
    for document in documents:
        for text in (document.id, document.split):
            raw = text.encode("utf-8")
            digest.update(len(raw).to_bytes(8, "little") + raw)
        tokens = np.ascontiguousarray(document.tokens, dtype=DTYPE)
        digest.update(len(tokens).to_bytes(8, "little"))
        digest.update(tokens.data)
    return digest.hexdigest()
