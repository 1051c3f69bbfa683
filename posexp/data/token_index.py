"""Where documents begin and end in a file of tokens: found once, kept, and mapped from then on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from posexp.data.documents import in_chunks, map_array
from posexp.data.kept import WHOLE, Temporary, cache_directory, kept

STARTS, LENGTHS = "starts.bin", "lengths.bin"


def indexed(
    file: Path, dtype: str, separator: int | None, tokens: int
) -> tuple[Path, Temporary | None]:
    """The directory with the index of a file, and what deletes it if it could not be kept.

    STARTS and LENGTHS (N,) int64 are those of the documents; WHOLE has the file's sha256. Every id
    is below `tokens`, and `separator` stands between documents. Raises `ValueError` for a file that
    is cut off and for an id outside the vocabulary.
    """
    found = file.stat()
    width = np.dtype(dtype).itemsize
    if not found.st_size or found.st_size % width:
        raise ValueError(
            f"{file} has {found.st_size} bytes, which are no tokens of {width} bytes each: it is "
            "cut off, or data.dtype is another"
        )
    facts = [str(file.resolve()), found.st_size, found.st_mtime_ns, dtype, separator, tokens]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
    place = cache_directory() / "token_files" / key
    return kept(place, lambda directory: _write_index(file, dtype, separator, tokens, directory))


def _write_index(
    file: Path, dtype: str, separator: int | None, tokens: int, directory: Path
) -> None:
    """Starts and lengths of what stands between separators, none of it empty; the file's hash."""
    digest, first, row = hashlib.sha256(), 0, 0
    array = map_array(file, dtype)
    with (
        (directory / STARTS).open("wb") as starts,
        (directory / LENGTHS).open("wb") as lengths,
    ):
        for chunk in in_chunks(array):
            digest.update(chunk.data)
            if int(chunk.max()) >= tokens:
                at = row + int(np.argmax(chunk >= tokens))
                raise ValueError(
                    f"{file}: token {at} is {array[at]}, and ids end at {tokens - 1} "
                    f"(data.vocabulary); is it {dtype}?"
                )
            row += len(chunk)
            if separator is None:
                continue
            ends = row - len(chunk) + np.flatnonzero(chunk == separator)
            first = _append(starts, lengths, np.concatenate([[first - 1], ends]))
        _append(starts, lengths, np.array([first - 1, len(array)]))
    (directory / WHOLE).write_text(json.dumps({"sha256": digest.hexdigest()}))


def _append(starts: Any, lengths: Any, bounds: np.ndarray) -> int:
    """Write the documents between these separators (n,); the start of the one after the last."""
    begin, size = bounds[:-1] + 1, np.diff(bounds) - 1
    begin[size > 0].astype("<i8").tofile(starts)
    size[size > 0].astype("<i8").tofile(lengths)
    return int(bounds[-1]) + 1
