"""The tokenizer of a run: a copy in its directory, and its record in every checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posexp.data.json_tokenizer import FILE, JsonTokenizer
from posexp.data.tokenizer import BYTES, Tokenizer, check_tokenizer
from posexp.files import replace


def keep_tokenizer(directory: Path, tokenizer: Tokenizer) -> None:
    """Put the tokenizer.json of a run into its directory; bytes need none."""
    if tokenizer.content is not None:
        replace(directory / FILE, tokenizer.content)


def recorded_tokenizer(directory: Path, provenance: Mapping[str, Any]) -> Tokenizer | None:
    """The tokenizer that a run recorded and keeps in `directory`; None where it keeps none.

    Raises `ValueError` if the copy is no longer the recorded one.
    """
    record = record_of(provenance)
    if record["identity"] == BYTES.identity:
        return BYTES
    file = directory / FILE
    if record["sha256"] is None or not file.is_file():
        return None
    found = JsonTokenizer(file.read_bytes(), str(file), record["bos"])
    check_tokenizer(record, found, "the checkpoint")
    return found


def record_of(provenance: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record of the tokenizer; that of bytes in a checkpoint of before there was a choice."""
    return provenance.get("tokenizer") or BYTES.record()
