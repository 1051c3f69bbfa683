"""A corpus on a disk, ready to be memory-mapped, in one directory:

tokens-00000.bin, ...
    Tokens without BOS, little-endian, document after document; each document lies in one file.
index.bin, names.bin
    A record for each document (`RECORD`), in order, and the ids and titles that it points to.
train.rows, train.lengths (val, test)
    The documents of a split: their numbers in the index and their tokens, both int64.
tokenizer.json
    Unless tokens are bytes.
manifest.json
    What all of this was made from, how many documents and tokens there are, and the size and
    SHA-256 of every other file. It is written last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from posexp.data.documents import SPLITS, Corpus, Document, MappedDocuments, map_array
from posexp.data.json_tokenizer import FILE, JsonTokenizer
from posexp.data.tokenizer import BYTES, Tokenizer
from posexp.files import read_json

MANIFEST, INDEX, NAMES = "manifest.json", "index.bin", "names.bin"
FORMAT = 2
OLD = "documents.json"  # of format 1
NO_SPLIT = 255

#: `split` is an index in SPLITS, or NO_SPLIT until there is one; `name` is where the id begins in
#: the names, and the title follows; `bytes` are those of the text.
RECORD = np.dtype(
    [
        *(("digest", "<u8"), ("bytes", "<i8"), ("start", "<i8"), ("length", "<i8")),
        *(("name", "<i8"), ("id", "<i4"), ("title", "<i4"), ("shard", "<i4"), ("split", "u1")),
    ]
)


def shard_name(number: int) -> str:
    """The file of the tokens of one shard."""
    return f"tokens-{number:05}.bin"


def is_prepared(path: Path) -> bool:
    """Whether the directory is a prepared corpus, or what is left of one."""
    return any((path / name).is_file() for name in (MANIFEST, INDEX, OLD, shard_name(0)))


class PreparedDocuments(MappedDocuments):
    """The documents of a prepared directory, all or those of one split."""

    def __init__(self, path: Path, dtype: str, split: str | None = None) -> None:
        self._arguments = path, dtype, split
        self.home = path / "windows"
        self.name = split or "all"
        self._index = map_array(path / INDEX, RECORD)
        self._names = map_array(path / NAMES, np.uint8)
        self._rows = None if split is None else map_array(path / f"{split}.rows", "<i8")
        self._shards: dict[int, np.ndarray] = {}
        self.lengths = (
            self._index["length"] if split is None else map_array(path / f"{split}.lengths", "<i8")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedDocuments, self._arguments

    def document(self, n: int) -> Document:
        found = self._index[n if self._rows is None else int(self._rows[n])]
        name, start = int(found["name"]), int(found["start"])
        middle = name + int(found["id"])
        names = [
            self._names[a:b].tobytes().decode("utf-8")
            for a, b in ((name, middle), (middle, middle + int(found["title"])))
        ]
        tokens = self._shard(int(found["shard"]))[start : start + int(found["length"])]
        return Document(*names, SPLITS[found["split"]], tokens)

    def of_split(self, name: str) -> MappedDocuments:
        path, dtype, _ = self._arguments
        return PreparedDocuments(path, dtype, name)

    def _shard(self, number: int) -> np.ndarray:
        path, dtype, _ = self._arguments
        if number not in self._shards:
            self._shards[number] = map_array(path / shard_name(number), dtype)
        return self._shards[number]


def open_prepared(path: Path, name: str) -> Corpus:
    """The corpus in a prepared directory, memory-mapped.

    Sizes are compared with the manifest; `verify` also reads every token. Raises `ValueError` if
    the files are not what `posexp prepare` writes.
    """
    if (path / OLD).is_file() and not (path / MANIFEST).is_file():
        raise ValueError(
            f"{path} was prepared by an earlier version of posexp, in a format that is no longer "
            "read; prepare it again from the text"
        )
    try:
        manifest = read_json(path / MANIFEST)
        if manifest is None:
            raise ValueError(f"there is no {MANIFEST}")
        if manifest["format"] != FORMAT:
            raise ValueError(f"its format is {manifest['format']}, not {FORMAT}")
        for file, described in manifest["files"].items():
            size = (path / file).stat().st_size
            if size != described["bytes"]:
                raise ValueError(f"{file} has {size} bytes, not {described['bytes']}")
        tokenizer = _tokenizer(path, manifest["tokenizer"])
        documents = PreparedDocuments(path, manifest["dtype"])
        if len(documents) != manifest["documents"]:
            raise ValueError(f"{INDEX} has {len(documents)} documents, which {MANIFEST} disputes")
        return Corpus(name, documents, manifest["fingerprint"], tokenizer)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} is not a corpus that this version of `posexp prepare` wrote whole "
            f"({type(error).__name__}: {error}); prepare it again from the text"
        ) from error


def verify(path: Path) -> None:
    """Read every file of a prepared directory. Raises `ValueError` for one that has changed."""
    open_prepared(path, path.name)
    for name, described in (read_json(path / MANIFEST) or {})["files"].items():
        with (path / name).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != described["sha256"]:
            raise ValueError(
                f"{path / name} is not what `posexp prepare` wrote: SHA-256 {found[:12]}, not "
                f"{described['sha256'][:12]}; prepare the corpus again from the text"
            )


def _tokenizer(path: Path, record: Mapping[str, Any]) -> Tokenizer:
    if record["identity"] == BYTES.identity:
        return BYTES
    found = JsonTokenizer((path / FILE).read_bytes(), str(path / FILE), record["bos"])
    if found.identity != record["identity"]:
        raise ValueError(f"{FILE} is {found.identity}, not {record['identity']}")
    return found
