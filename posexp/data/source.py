"""What is prepared: files of text or datasets of Hugging Face, readable more than once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from posexp.data.documents import SPLITS, Document
from posexp.data.hub import read_dataset
from posexp.data.splits import HeldOut, digest, stream_splits
from posexp.data.text_files import COLUMN, Position, find_files, read_documents
from posexp.data.tokenizer import BYTES

Read = Callable[[], Iterator[Document]]


@dataclass(frozen=True)
class Source:
    """`read()` gives all documents from the first on; `description` is of what they come from.

    Two sources of one description have the same documents. `bytes` is the size on the disk, None
    where it is not known, and `position` how much of it was read.
    """

    read: Read
    description: list[Any]
    bytes: int | None
    position: Position

    @property
    def record(self) -> dict[str, Any]:
        """What a manifest says of it: how many files, and a hash of their names and sizes."""
        described = json.dumps([one[:2] for one in self.description]).encode("utf-8")
        found = hashlib.sha256(described).hexdigest()
        return {"files": len(self.description), "fingerprint": found}

    @contextmanager
    def shown(self, wanted: bool) -> Iterator[Read]:
        """`read`, with a progress bar on standard error if it is wanted."""
        if not wanted:
            yield self.read
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
            task = bar.add_task("preparing", total=self.bytes)

            def read() -> Iterator[Document]:
                self.position.finished, self.position.file, size = 0, None, 0
                for number, document in enumerate(self.read(), 1):
                    yield document
                    size += len(document)
                    if number % 64 == 1:
                        done = size if self.bytes is None else self.position.bytes
                        bar.update(task, completed=done, description=f"{number} documents")
                bar.update(task, completed=self.bytes, description="writing the index")

            yield read


def open_source(sources: Sequence[str | Path], data: Mapping[str, Any]) -> Source:
    """The documents of files and directories, or with `name` hf of datasets.

    Raises `ValueError` for what is not there.
    """
    position = Position()
    if data["name"] == "hf":
        settings = [{**data, "path": str(source), "streaming": True} for source in sources]
        if len(settings) > 1:
            raise ValueError("one dataset at a time can be prepared; their rows have equal ids")
        return Source(lambda: read_dataset(settings[0]), [[str(sources[0])]], None, position)
    paths = [Path(source).expanduser() for source in sources]
    files = [found for path in paths for found in find_files(path)]
    found = [file.stat() for _, file in files]
    column = data.get("column") or COLUMN
    return Source(
        lambda: read_documents(files, column, position),
        [
            [name, stat.st_size, str(file.resolve()), stat.st_mtime_ns]
            for (name, file), stat in zip(files, found, strict=True)
        ],
        sum(stat.st_size for stat in found),
        position,
    )


def train_texts(read: Read) -> Iterator[bytes]:
    """The texts of the train split, by the rule that the whole corpus is split by.

    Reads twice where documents have no split; 16 bytes a document are in memory.
    """
    digests, sizes = [], []
    longest = (-1, b"", 0)
    for document in stream_splits(read()):
        if document.split:
            break
        digests.append(digest(document.id))
        sizes.append(len(document))
        longest = max(longest, (len(document), document.id.encode("utf-8"), digests[-1]))
    rule = HeldOut.of(np.sort(np.array(digests, dtype=np.uint64)), longest[2]) if digests else None
    for document in stream_splits(read()):
        split = document.split
        if rule is not None:
            split = SPLITS[rule.codes(np.array([digest(document.id)], dtype=np.uint64))[0]]
        if split == "train":
            yield BYTES.decode(document.tokens)
