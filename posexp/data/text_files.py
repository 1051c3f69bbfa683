"""Reading text: .txt files, .jsonl files with one document a line, either gzipped, or a directory.

A .txt file is one document. A .jsonl line is an object with "text" and, if wanted, "id", "title"
and "split"; other keys are ignored. Every byte of a text is kept, line ends included, but for a
UTF-8 byte order mark, which is no text.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from posexp.data.documents import Document
from posexp.data.jsonl import read_jsonl
from posexp.data.tokens import from_bytes
from posexp.registry import nearest

SUFFIXES = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz")


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


def read_documents(files: list[tuple[str, Path]]) -> Iterator[Document]:
    """The documents of the files in order, read as they are asked for; `split` as given, or "".

    Raises `ValueError` for a file that is empty, not UTF-8, not gzip or not the JSONL described
    above, and for two documents of one id.
    """
    seen: dict[str, Path] = {}
    for name, file in files:
        for document in _read_file(name, file):
            if document.id in seen:
                raise ValueError(
                    f"two documents have the id {document.id!r}: "
                    f"one in {seen[document.id]}, one in {file}"
                )
            seen[document.id] = file
            yield document


def _read_file(name: str, file: Path) -> Iterator[Document]:
    opener = gzip.open if name.lower().endswith(".gz") else open
    with opener(file, "rb") as stream:
        try:
            if name.lower().endswith((".jsonl", ".jsonl.gz")):
                yield from read_jsonl(stream, name, file)
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
