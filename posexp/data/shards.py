"""Tokens written shard by shard: each is on the disk before the next begins, and is never half.

Files have another name while they are written. shard-00000.json, which comes last, makes a shard
count; what was begun after the last of these is written anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from posexp.data.documents import SPLITS, Document
from posexp.data.prepared import NO_SPLIT, RECORD, shard_name
from posexp.data.splits import digest
from posexp.files import read_json

PARTIAL = ".partial"
WAITING = 2**12  # records in memory


class ShardWriter:
    """Writes documents into shards of at least `size` tokens (the last has fewer).

    `committed` are the records of the shards that are whole, those of an earlier process first;
    `documents` is how many documents they hold.
    """

    def __init__(self, directory: Path, dtype: np.dtype, size: int) -> None:
        self._directory = directory
        self._dtype = dtype
        self._size = size
        self.committed = committed(directory)
        self._open: _Shard | None = None

    @property
    def documents(self) -> int:
        """How many documents are safe."""
        return sum(shard["documents"] for shard in self.committed)

    def add(self, document: Document, text_bytes: int) -> None:
        """Append one document, and end the shard if it is full."""
        if self._open is None:
            self._open = _Shard(self._directory, len(self.committed), self._dtype)
        self._open.add(document, text_bytes)
        if self._open.tokens >= self._size:
            self.commit()

    def commit(self) -> None:
        """End the shard that is open, if one is: after this it is on the disk."""
        if self._open is not None:
            self.committed.append(self._open.commit())
            self._open = None

    def close(self) -> None:
        """Leave a shard that is open; its files keep the names of what is not whole."""
        if self._open is not None:
            with suppress(OSError):  # what is left to flush may not fit either
                self._open.close()
            self._open = None


def committed(directory: Path) -> list[dict[str, Any]]:
    """The records of the shards that are whole: `documents`, `tokens` and `sha256`."""
    found: list[dict[str, Any]] = []
    while shard := read_json(directory / f"shard-{len(found):05}.json"):
        found.append(shard)
    return found


class _Shard:
    def __init__(self, directory: Path, number: int, dtype: np.dtype) -> None:
        self._directory = directory
        self._number = number
        self._dtype = dtype
        names = (shard_name(number), f"documents-{number:05}.bin", f"names-{number:05}.bin")
        self._paths = [directory / name for name in names]
        self._files: list[BinaryIO] = [partial(path).open("wb") for path in self._paths]
        self._hash = hashlib.sha256()
        self._waiting: list[tuple[Any, ...]] = []
        self._name = 0
        self.tokens = self.documents = 0

    def add(self, document: Document, text_bytes: int) -> None:
        tokens, _, names = self._files
        raw = np.ascontiguousarray(document.tokens, dtype=self._dtype).data
        id, title = document.id.encode("utf-8"), document.title.encode("utf-8")
        split = SPLITS.index(document.split) if document.split else NO_SPLIT
        place = (self.tokens, len(document), self._name, len(id), len(title))
        self._waiting.append((digest(document.id), text_bytes, *place, self._number, split))
        tokens.write(raw)
        names.write(id + title)
        self._hash.update(raw)
        self.tokens += len(document)
        self.documents += 1
        self._name += len(id) + len(title)
        if len(self._waiting) == WAITING:
            self._write_records()

    def commit(self) -> dict[str, Any]:
        self._write_records()
        for file in self._files:
            sync(file)
        self.close()
        for path in self._paths:
            os.replace(partial(path), path)
        record = {
            "documents": self.documents,
            "tokens": self.tokens,
            "sha256": self._hash.hexdigest(),
        }
        write_whole(self._directory / f"shard-{self._number:05}.json", record)
        return record

    def close(self) -> None:
        with ExitStack() as stack:
            for file in self._files:
                stack.callback(file.close)

    def _write_records(self) -> None:
        self._files[1].write(np.array(self._waiting, dtype=RECORD).tobytes())
        self._waiting.clear()


def partial(path: Path) -> Path:
    """The name of a file while it is written."""
    return path.with_name(path.name + PARTIAL)


def sync(file: BinaryIO) -> None:
    """Wait until what was written is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def write_whole(path: Path, value: Any) -> None:
    """Write JSON as `write_bytes` does."""
    write_bytes(path, json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8") + b"\n")


def write_bytes(path: Path, content: bytes) -> None:
    """Write under another name, wait until all is on the disk, and give the file its name."""
    with partial(path).open("wb") as file:
        file.write(content)
        sync(file)
    os.replace(partial(path), path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
