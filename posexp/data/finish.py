"""From shards to a prepared corpus: splits, the index, the fingerprint, and last the manifest."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from posexp.data.documents import SPLITS, fingerprint, in_chunks, map_array
from posexp.data.json_tokenizer import FILE
from posexp.data.prepared import (
    FORMAT,
    INDEX,
    MANIFEST,
    NAMES,
    NO_SPLIT,
    RECORD,
    PreparedDocuments,
    shard_name,
)
from posexp.data.shards import PARTIAL, sync, write_bytes, write_whole
from posexp.data.splits import HeldOut
from posexp.data.tokenizer import Tokenizer

DIGESTS = "digests" + PARTIAL


def finish(
    directory: Path,
    shards: Sequence[Mapping[str, Any]],
    tokenizer: Tokenizer,
    source: Mapping[str, Any],
) -> None:
    """Write all but the tokens, which are there as `shards` records them (`ShardWriter`).

    `source` says in the manifest what they were made from. What is needed no more is deleted by
    `clean`. Memory is that of one shard's index, however many there are. Raises `ValueError` for
    two documents of one id.
    """
    longest = _join(directory, len(shards))
    _assign(directory, longest)
    for number, split in enumerate(SPLITS):
        _write_split(directory, number, split)
    dtype = tokenizer.dtype.str
    if tokenizer.content is not None:
        write_bytes(directory / FILE, tokenizer.content)
    documents = PreparedDocuments(directory, dtype)
    files = {
        shard_name(number): {
            "bytes": shard["tokens"] * tokenizer.dtype.itemsize,
            "sha256": shard["sha256"],
        }
        for number, shard in enumerate(shards)
    }
    others = [INDEX, NAMES, *(f"{s}.{kind}" for s in SPLITS for kind in ("rows", "lengths"))]
    for name in others + ([FILE] if tokenizer.content is not None else []):
        files[name] = _described(directory / name)
    manifest = {
        "format": FORMAT,
        "tokenizer": tokenizer.record(),
        "dtype": dtype,
        "fingerprint": fingerprint(documents),
        "source": dict(source),
        "documents": len(documents),
        "tokens": sum(shard["tokens"] for shard in shards),
        "splits": {split: _counts(documents.of_split(split).lengths) for split in SPLITS},
        "files": files,
    }
    write_whole(directory / MANIFEST, manifest)


def clean(directory: Path) -> None:
    """Delete what a prepared directory does not have. The manifest is there."""
    for pattern in ("documents-*.bin", "names-*.bin", "shard-*.json", f"*{PARTIAL}"):
        for path in directory.glob(pattern):
            path.unlink()


def _join(directory: Path, count: int) -> tuple[int, bytes, int]:
    """Write one index, the names and the digests of all shards.

    Gives the longest document: its bytes, id and digest; of several the one with the last id.
    """
    longest = (-1, b"", 0)
    with (
        (directory / INDEX).open("wb") as index,
        (directory / NAMES).open("wb") as names,
        (directory / DIGESTS).open("wb") as digests,
    ):
        for number in range(count):
            records = np.fromfile(directory / f"documents-{number:05}.bin", dtype=RECORD)
            named = (directory / f"names-{number:05}.bin").read_bytes()
            for n in np.flatnonzero(records["bytes"] == records["bytes"].max()):
                one = records[n]
                id = named[one["name"] : one["name"] + one["id"]]
                longest = max(longest, (int(one["bytes"]), id, int(one["digest"])))
            records["name"] += names.tell()
            names.write(named)
            index.write(records.tobytes())
            digests.write(records["digest"].tobytes())
        for file in (index, names):
            sync(file)
    return longest


def _assign(directory: Path, longest: tuple[int, bytes, int]) -> None:
    """Give documents without a split theirs, after looking for an id that comes twice."""
    digests = np.memmap(directory / DIGESTS, dtype="<u8", mode="r+")
    digests.sort()
    for first in range(0, len(digests) - 1, 2**20):
        chunk = digests[first : first + 2**20 + 1]
        if (twice := chunk[1:][chunk[1:] == chunk[:-1]]).size:
            _refuse_twice(directory, int(twice[0]))
    index = np.memmap(directory / INDEX, dtype=RECORD, mode="r+")
    if index[0]["split"] == NO_SPLIT:
        held_out = HeldOut.of(digests, longest[2])
        for chunk in _views(index):
            chunk["split"] = held_out.codes(chunk["digest"])
    index.flush()
    del digests
    (directory / DIGESTS).unlink()


def _refuse_twice(directory: Path, digest: int) -> None:
    index, names = map_array(directory / INDEX, RECORD), map_array(directory / NAMES, np.uint8)
    rows = np.concatenate(
        [
            first + np.flatnonzero(chunk["digest"] == np.uint64(digest))
            for first, chunk in zip(range(0, len(index), 2**20), _views(index), strict=True)
        ]
    )
    starts = [int(index[n]["name"]) for n in rows]
    ids = [
        names[a : a + int(index[n]["id"])].tobytes().decode("utf-8")
        for a, n in zip(starts, rows, strict=True)
    ]
    if len(set(ids)) < len(ids):
        raise ValueError(f"two documents have the id {ids[0]!r}: numbers {rows[0]} and {rows[1]}")


def _views(array: np.ndarray) -> list[np.ndarray]:
    return [array[first : first + 2**20] for first in range(0, len(array), 2**20)]


def _write_split(directory: Path, number: int, split: str) -> None:
    index = map_array(directory / INDEX, RECORD)
    with (
        (directory / f"{split}.rows").open("wb") as rows,
        (directory / f"{split}.lengths").open("wb") as lengths,
    ):
        first = 0
        for chunk in in_chunks(index):
            own = np.flatnonzero(chunk["split"] == number)
            rows.write((first + own).astype("<i8").tobytes())
            lengths.write(chunk["length"][own].tobytes())
            first += len(chunk)
        for file in (rows, lengths):
            sync(file)


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"bytes": os.fstat(file.fileno()).st_size, "sha256": digest}


def _counts(lengths: np.ndarray) -> Mapping[str, int]:
    return {"documents": len(lengths), "tokens": int(lengths.sum(dtype=np.int64))}
