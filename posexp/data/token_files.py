"""Tokens without their text: train.bin, val.bin and test.bin in the layout of nanoGPT.

Each file is the ids of one split, uint16 or uint32 little-endian, and nothing else. Documents are
what stands between separators, which are in none of them; without a separator a file is one
document. meta.pkl is never opened: unpickling runs whatever is in it. meta.json may hold
{"vocab_size": ...}.

A first reading checks every id and finds the documents; what it found is kept in the cache
(`posexp.data.token_index`), and after that nothing is read but the tokens of windows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from posexp.data.documents import SPLITS, Corpus, Document, MappedDocuments, map_array
from posexp.data.kept import WHOLE
from posexp.data.token_index import LENGTHS, STARTS, indexed
from posexp.data.tokenizer import Tokenizer, UnknownTokenizer
from posexp.files import read_json

DTYPES = {"uint16": "<u2", "uint32": "<u4"}
META = "meta.json"


def open_token_files(
    path: Path, data: Mapping[str, Any], tokenizer: Tokenizer | None = None
) -> Corpus:
    """The corpus of a directory, memory-mapped.

    `data` has `dtype`, uint16 unless given, `separator`, an id or None, and `tokenizer`, the path
    of the tokenizer.json with which the tokens were made. Without that it has `vocabulary`, the
    number of ids (or meta.json has it), and `bytes_per_token`, the bytes of text that a token is on
    average: losses are in bits per byte all the same.

    Raises `ValueError` for a directory without train.bin, a file that is cut off, an id outside the
    vocabulary, or settings that contradict each other.
    """
    if not (path / "train.bin").is_file():
        raise ValueError(f"{path} has no train.bin; data=bin is a directory with train.bin in it")
    dtype = DTYPES.get(data.get("dtype") or "uint16")
    if dtype is None:
        raise ValueError(f"data.dtype must be {' or '.join(DTYPES)}, got {data['dtype']}")
    tokenizer = tokenizer or _tokenizer(path, data)
    tokens, separator = tokenizer.vocabulary, data.get("separator")
    if isinstance(tokenizer, UnknownTokenizer):
        tokens -= 1  # BOS is in no file
    if separator is not None and not 0 <= separator < tokens:
        raise ValueError(f"data.separator must be an id, 0 to {tokens - 1}, got {separator}")
    files = {name: path / f"{name}.bin" for name in SPLITS if (path / f"{name}.bin").is_file()}
    parts = {
        name: TokenFile(name, file, dtype, *indexed(file, dtype, separator, tokens))
        for name, file in files.items()
    }
    digest = hashlib.sha256()
    for name, part in parts.items():
        digest.update(f"{name} {part.sha256} {dtype} {separator}\n".encode())
    name = path.resolve().name
    return Corpus(name, TokenFiles(parts), digest.hexdigest(), tokenizer)


class TokenFile(MappedDocuments):
    """The documents of one file, and the file's sha256. `index` has their starts and lengths."""

    def __init__(self, split: str, file: Path, dtype: str, index: Path, kept: Any = None) -> None:
        self.name = self.split = split
        self.home = index
        self._arguments = split, file, dtype, index
        self._kept = kept
        self._tokens = map_array(file, dtype)
        self._starts = map_array(index / STARTS, "<i8")
        self.lengths = map_array(index / LENGTHS, "<i8")
        self.sha256 = json.loads((index / WHOLE).read_text())["sha256"]

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenFile, self._arguments

    def document(self, n: int) -> Document:
        start = int(self._starts[n])
        tokens = self._tokens[start : start + int(self.lengths[n])]
        return Document(f"{self.split}:{n}", f"{self.split}:{n}", self.split, tokens)

    def of_split(self, name: str) -> MappedDocuments:
        return self if name == self.split else NONE


class TokenFiles(MappedDocuments):
    """Those of all files, one after another."""

    def __init__(self, parts: Mapping[str, TokenFile]) -> None:
        self._parts = dict(parts)

    @property
    def lengths(self) -> np.ndarray:
        """The tokens of each."""
        sizes = [part.lengths for part in self._parts.values()]
        return np.concatenate([np.empty(0, np.int64), *sizes])

    def __len__(self) -> int:
        return sum(len(part) for part in self._parts.values())

    def document(self, n: int) -> Document:
        for part in self._parts.values():
            if n < len(part):
                return part.document(n)
            n -= len(part)
        raise IndexError(n)

    def of_split(self, name: str) -> MappedDocuments:
        return self._parts.get(name, NONE)


NONE = TokenFiles({})


def _tokenizer(path: Path, data: Mapping[str, Any]) -> Tokenizer:
    vocabulary, named = data.get("vocabulary"), data.get("tokenizer")
    bytes_per_token = data.get("bytes_per_token")
    meta = read_json(path / META) or {}
    vocabulary = meta.get("vocab_size") if vocabulary is None else vocabulary
    if named is not None:
        if named in ("bytes", "bpe"):
            raise ValueError(
                f"data.tokenizer={named} does not go with data=bin, whose tokens are made already; "
                "name the tokenizer.json they were made with, or leave it out"
            )
        from posexp.data.json_tokenizer import JsonTokenizer

        if bytes_per_token is not None:
            raise ValueError("data.bytes_per_token is for tokens without a tokenizer: leave it out")
        tokenizer = JsonTokenizer.open(Path(named).expanduser())
        if vocabulary is not None and vocabulary > tokenizer.vocabulary:
            raise ValueError(
                f"data.vocabulary={vocabulary} is more than {named} has, {tokenizer.vocabulary}"
            )
        return tokenizer
    if not isinstance(vocabulary, int) or vocabulary < 1:
        raise ValueError(
            "data=bin needs data.vocabulary, the number of token ids (50257 for GPT-2), or "
            f'{path / META} with {{"vocab_size": ...}}; meta.pkl is not opened, for unpickling '
            "runs what is in it"
        )
    if not (bytes_per_token or 0) > 0:
        raise ValueError(
            "losses are in bits per byte: data=bin needs data.tokenizer, the tokenizer.json of its "
            "tokens, or data.bytes_per_token, the bytes of text that a token is on average (1 for "
            "characters of English text)"
        )
    return UnknownTokenizer(vocabulary, bytes_per_token)
