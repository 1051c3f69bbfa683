"""A corpus on disk, ready to be memory-mapped: tokens.bin and documents.json in one directory.

tokens.bin holds the tokens of all documents one after another, uint16 little-endian, without BOS.
documents.json says where each begins, and what the whole was made from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from posexp.data.documents import SPLITS, Corpus, Document
from posexp.data.tokens import DTYPE, TOKENIZER

TOKENS, DOCUMENTS = "tokens.bin", "documents.json"
FORMAT = 1


def is_prepared(path: Path) -> bool:
    """Whether the directory holds either file of a prepared corpus."""
    return (path / TOKENS).is_file() or (path / DOCUMENTS).is_file()


def map_tokens(path: Path) -> np.ndarray:
    """The tokens (N,) of a prepared directory, mapped and read-only."""
    return np.memmap(path / TOKENS, dtype=DTYPE, mode="r")


def write_documents(path: Path, corpus: Corpus, sources: Sequence[Path]) -> None:
    """Write documents.json for a corpus whose tokens stand in tokens.bin in the same order."""
    entries, start = [], 0
    for d in corpus.documents:
        entries.append(
            {"id": d.id, "title": d.title, "split": d.split, "start": start, "length": len(d)}
        )
        start += len(d)
    header = {
        "format": FORMAT,
        "tokenizer": TOKENIZER,
        "fingerprint": corpus.fingerprint,
        "sources": [str(source) for source in sources],
        "documents": entries,
    }
    text = json.dumps(header, indent=1, ensure_ascii=False)
    (path / DOCUMENTS).write_text(text + "\n", encoding="utf-8")


def open_prepared(path: Path, name: str) -> Corpus:
    """The corpus in a prepared directory, memory-mapped.

    The fingerprint is the one that was written: reading every token again would undo the point of
    mapping them. Raises `ValueError` if the two files are not what `posexp prepare` writes.
    """
    try:
        header = json.loads((path / DOCUMENTS).read_text(encoding="utf-8"))
        if (header["format"], header["tokenizer"]) != (FORMAT, TOKENIZER):
            raise ValueError(f"format {header['format']} with tokenizer {header['tokenizer']!r}")
        tokens = map_tokens(path)
        documents = [_document(entry, tokens) for entry in header["documents"]]
        if sum(len(d) for d in documents) != len(tokens):
            raise ValueError(f"{TOKENS} has {len(tokens)} tokens, which {DOCUMENTS} disputes")
        return Corpus(name, tuple(documents), header["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is not a corpus that this version of `posexp prepare` wrote whole "
            f"({type(error).__name__}: {error}); prepare it again from the text"
        ) from error


def _document(entry: dict, tokens: np.ndarray) -> Document:
    start, length = entry["start"], entry["length"]
    if entry["split"] not in SPLITS or not 0 <= start < start + length <= len(tokens):
        raise ValueError(f"bad entry {entry}")
    return Document(entry["id"], entry["title"], entry["split"], tokens[start : start + length])
