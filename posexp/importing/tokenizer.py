"""The tokenizer that comes with a foreign checkpoint, or what is known of it without one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from posexp.data.json_tokenizer import FILE, JsonTokenizer


@dataclass(frozen=True)
class ImportedTokenizer:
    """What a run keeps of a tokenizer.

    record
        As `posexp.data.tokenizer.Tokenizer.record` gives it.
    files
        What lies beside the checkpoint: tokenizer.json as it was, if it came with one.
    """

    record: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def find(cls, directory: Path, bos: int | None, vocabulary: int) -> ImportedTokenizer:
        """That of a checkpoint whose config.json names `bos` and has `vocabulary` embeddings.

        Raises `ValueError` where tokens have no embedding, and for a tokenizer.json that posexp
        cannot use.
        """
        if bos is not None and not 0 <= bos < vocabulary:
            raise ValueError(f"bos_token_id={bos} is outside the vocabulary of {vocabulary}")
        file = directory / FILE
        if not file.is_file():
            # Nobody knows what its tokens spell: none of the tokenizers here is this one.
            identity = f"that of the imported {directory.resolve().name}, unknown"
            return cls({"identity": identity, "sha256": None, "vocabulary": vocabulary, "bos": bos})
        content = file.read_bytes()
        try:
            found = JsonTokenizer(content, FILE, bos)
        except ValueError as error:
            raise ValueError(f"{error}; to import the weights alone, move {FILE} away") from error
        if found.vocabulary > vocabulary:
            raise ValueError(
                f"{FILE} has {found.vocabulary} ids, BOS included, and the model embeddings for "
                f"{vocabulary}"
            )
        return cls(found.record(), {FILE: content})

    @property
    def is_known(self) -> bool:
        """Whether text can be turned into tokens."""
        return bool(self.files)

    def settings(self, out: Path) -> dict[str, Any]:
        """What the section `data` of the run in `out` says of it."""
        bos = {"bos": "none"} if self.record["bos"] is None else {}
        return bos | ({"tokenizer": str((out / FILE).absolute())} if self.is_known else {})

    @property
    def told(self) -> str:
        """It in one line."""
        if self.is_known:
            return f"{FILE} copied, BOS {self.record['bos']}"
        return (
            f"no {FILE}: posexp eval and posexp generate need it to turn text into tokens; put it "
            "beside config.json and import again"
        )
