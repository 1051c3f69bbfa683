"""What a corpus is: documents, each in one split, and a fingerprint of all of it."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from posexp.data.tokenizer import BYTES, Tokenizer
from posexp.registry import nearest

SPLITS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class Document:
    """One text: `tokens` (N,) without BOS, possibly a view of a memory-mapped file.

    They are uint16, or uint32 of a vocabulary beyond 65,536. As it is read, before a tokenizer has
    seen it, a text is its bytes.

    `split` is train, val or test, or "" until `posexp.data.splits` has given it one.
    """

    id: str
    title: str
    split: str
    tokens: np.ndarray = field(repr=False)

    def __len__(self) -> int:
        return len(self.tokens)


class MappedDocuments(Sequence[Document]):
    """Documents in files, each made when it is asked for, so that many of them cost no memory.

    lengths
        The tokens of each, (N,) int64, memory-mapped.
    home
        A directory in which an index of them may be kept; None where there is none.
    name
        What the index is of.
    """

    lengths: np.ndarray
    home: Path | None = None
    name: str = "all"

    @abstractmethod
    def document(self, n: int) -> Document:
        """The n-th document, 0 <= n < N."""

    @abstractmethod
    def of_split(self, name: str) -> MappedDocuments:
        """Those of one split, in order."""

    def longer(self, length: int) -> MappedDocuments:
        """Those of more than `length` tokens."""
        rows = [np.flatnonzero(chunk > length) for chunk in in_chunks(self.lengths)]
        first = np.cumsum([0] + [len(chunk) for chunk in in_chunks(self.lengths)])
        found = [row + start for row, start in zip(rows, first, strict=False)]
        return ChosenDocuments(self, np.concatenate([np.empty(0, np.int64), *found]))

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, n: Any) -> Any:
        if isinstance(n, slice):
            return [self.document(i) for i in range(*n.indices(len(self)))]
        if not -len(self) <= n < len(self):
            raise IndexError(f"there is no document {n} of {len(self)}")
        return self.document(int(n) % len(self))


class ChosenDocuments(MappedDocuments):
    """Some of `documents`, by their numbers `rows` (n,), ascending."""

    def __init__(self, documents: MappedDocuments, rows: np.ndarray) -> None:
        self._documents = documents
        self._rows = rows
        self.lengths = documents.lengths[rows]

    def document(self, n: int) -> Document:
        return self._documents.document(int(self._rows[n]))

    def of_split(self, name: str) -> MappedDocuments:
        kept = [n for n in self._rows if self._documents.document(int(n)).split == name]
        return ChosenDocuments(self._documents, np.array(kept, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents in a fixed order. Build one with `Corpus.of`, which computes the fingerprint."""

    name: str
    documents: Sequence[Document] = field(repr=False)
    fingerprint: str
    tokenizer: Tokenizer = BYTES

    @classmethod
    def of(cls, name: str, documents: Sequence[Document], tokenizer: Tokenizer = BYTES) -> Corpus:
        """A corpus of these documents, with its fingerprint."""
        return cls(name, tuple(documents), fingerprint(documents), tokenizer)

    def split(self, name: str) -> Sequence[Document]:
        """The documents of one split, in order; empty if it has none.

        Raises `ValueError` for a name that is not train, val or test.
        """
        check_split(name)
        if isinstance(self.documents, MappedDocuments):
            return self.documents.of_split(name)
        return tuple(d for d in self.documents if d.split == name)


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
        wide = document.tokens.dtype.itemsize == 4
        tokens = np.ascontiguousarray(document.tokens, dtype="<u4" if wide else "<u2")
        digest.update(len(tokens).to_bytes(8, "little"))
        digest.update(tokens.data)
    return digest.hexdigest()


def lengths(documents: Sequence[Document]) -> np.ndarray:
    """The number of tokens of each document, (N,) int64; memory-mapped if the documents are."""
    if isinstance(documents, MappedDocuments):
        return documents.lengths
    return np.array([len(d) for d in documents], dtype=np.int64)


def map_array(path: Path, dtype: DTypeLike) -> np.ndarray:
    """The numbers in a file, mapped and read-only; an empty file is an empty array."""
    if not path.stat().st_size:
        return np.empty(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r")


def in_chunks(array: np.ndarray, size: int = 2**18) -> Iterator[np.ndarray]:
    """An array that may lie on a disk, piece by piece, so that little of it is in memory."""
    for start in range(0, len(array), size):
        yield np.asarray(array[start : start + size])
