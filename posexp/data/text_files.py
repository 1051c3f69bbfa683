"""Reading text: .txt files, .jsonl files with one document a line, .parquet files, directories.

A .txt file is one document. A .jsonl line is an object with "text" and, if wanted, "id", "title"
and "split"; other keys are ignored. A .parquet file has a row for each document and columns of the
same names. Text may be under another name, `column`. The first two kinds may be gzipped. Every byte
of a text is kept, line ends included, but for a UTF-8 byte order mark, which is no text.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from posexp.data.documents import Document
from posexp.data.jsonl import COLUMN, read_jsonl
from posexp.data.tokens import from_bytes
from posexp.registry import nearest

LINES = (".jsonl", ".jsonl.gz")
TABLE = ".parquet"
SUFFIXES = (".txt", ".txt.gz", *LINES, TABLE)
#: Ids of so many documents are compared while they are read; `prepare` compares all at its end.
COMPARED = 2**20


@dataclass
class Position:
    """How far reading has come: bytes of files, as they lie on the disk."""

    finished: int = 0
    file: BinaryIO | None = None

    @property
    def bytes(self) -> int:
        """Of all files so far."""
        inside = 0 if self.file is None or self.file.closed else self.file.tell()
        return self.finished + inside


def find_files(path: Path) -> list[tuple[str, Path]]:
    """The text files that `path` stands for, as (name, file), sorted by name.

    A file is itself. A directory is all files in it and below, hidden ones left out; a name is
    the path inside the directory. Raises `ValueError` for a path that does not exist, with the
    nearest name that does, for a file of another kind, and for a directory without files.
    """
    if path.is_dir():
        files = [(p.relative_to(path).as_posix(), p) for p in path.rglob("*") if p.is_file()]
        files = sorted((name, file) for name, file in files if not _hidden(name))
        if not files:
            raise ValueError(f"{path} has no files in it; expected {_expected()}")
    else:
        if not path.exists():
            raise ValueError(f"there is no {path}{_neighbour(path)}")
        files = [(path.name, path)]
    for name, file in files:
        if not name.lower().endswith(SUFFIXES):
            raise ValueError(f"{file} is not a kind of text that can be read: {_expected()}")
    return files


def read_documents(
    files: list[tuple[str, Path]], column: str = COLUMN, position: Position | None = None
) -> Iterator[Document]:
    """The documents of the files in order, read as they are asked for; `split` as given, or "".

    `position` is kept up to date meanwhile. Raises `ValueError` for a file that is empty, not
    UTF-8, not gzip, or not the JSONL or Parquet described above, for two documents of one id, and
    for a `column` where no file has any.
    """
    if column != COLUMN and not any(n.lower().endswith((*LINES, TABLE)) for n, _ in files):
        raise ValueError(
            f"data.column={column} is for .jsonl and .parquet files, and there are none; leave it "
            "out"
        )
    seen: dict[str, Path] = {}
    position = Position() if position is None else position
    for name, file in files:
        for document in _read_file(name, file, column, position):
            if document.id in seen:
                raise ValueError(
                    f"two documents have the id {document.id!r}: "
                    f"one in {seen[document.id]}, one in {file}"
                )
            if len(seen) < COMPARED:
                seen[document.id] = file
            yield document
        position.finished += file.stat().st_size
        position.file = None


def _read_file(name: str, file: Path, column: str, position: Position) -> Iterator[Document]:
    if name.lower().endswith(TABLE):
        from posexp.data.parquet import read_parquet

        yield from read_parquet(file, name, column)
        return
    with file.open("rb") as raw:
        position.file = raw
        stream = gzip.GzipFile(fileobj=raw) if name.lower().endswith(".gz") else raw
        try:
            if name.lower().endswith(LINES):
                yield from read_jsonl(stream, name, file, column)
            else:
                yield _read_text(stream.read(), name, file)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{file} is not a whole gzip file: {error}") from error


def _read_text(raw: bytes, name: str, file: Path) -> Document:
    text = raw.removeprefix(codecs.BOM_UTF8)
    if not text:
        raise ValueError(f"{file} is empty")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is not UTF-8: byte {error.start} (0x{raw[error.start]:02x}), "
            f"{error.reason}; convert it first, for example with iconv"
        ) from error
    return Document(name, Path(name.removesuffix(".gz")).stem, "", from_bytes(text))


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in Path(name).parts)


def _neighbour(path: Path) -> str:
    """The nearest existing name beside a path that does not exist."""
    parent = path.parent
    if not parent.is_dir():
        return f": the directory {parent} does not exist either"
    return nearest(path.name, sorted(p.name for p in parent.iterdir()))


def _expected() -> str:
    return f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
