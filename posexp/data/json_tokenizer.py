"""A tokenizer.json of the library tokenizers (extra `bpe`)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from posexp.data.byte_level import pieces
from posexp.data.tokenizer import Tokenizer
from posexp.registry import nearest

FILE = "tokenizer.json"


class JsonTokenizer(Tokenizer):
    """Encodes with the library, adds no special tokens, and takes those inside a text for text.

    BOS is the file's own if it has one: `bos_token` of a tokenizer_config.json beside it, or the
    special token that its post-processor puts first. Else it is one id more.

    Raises `ValueError` for what is no tokenizer.json and for one whose tokens do not spell text.
    """

    def __init__(self, content: bytes, where: str, bos: int | None = None) -> None:
        self.where = where
        self._content = content
        self.sha256 = hashlib.sha256(content).hexdigest()
        self._library = _parse(content, where)
        described = json.loads(content)
        try:
            spelled = pieces(described)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{where} cannot be used: {error}") from error
        tokens = max(spelled) + 1
        own = _first_special(described) if bos is None else bos
        self.bos = tokens if own is None else own
        self.vocabulary = max(tokens, self.bos + 1)
        self.pieces = [spelled.get(n, b"") for n in range(self.vocabulary)]
        self.pieces[self.bos] = b""
        self.token_bytes = np.array([len(piece) for piece in self.pieces])
        named = self._library.id_to_token(self.bos)
        self.identity = f"tokenizer.json {self.sha256}, BOS {self.bos} ({named or 'added'})"

    @classmethod
    def open(cls, path: Path) -> JsonTokenizer:
        """That of a file, or of a directory with a tokenizer.json in it."""
        file = path / FILE if path.is_dir() else path
        if not file.is_file():
            names = [p.name for p in file.parent.iterdir()] if file.parent.is_dir() else []
            raise ValueError(
                f"there is no tokenizer {file}{nearest(file.name, names)}; data.tokenizer is "
                "bytes, bpe, or the path of a tokenizer.json"
            )
        content = file.read_bytes()
        return cls(content, str(file), _configured_bos(file, content))

    @property
    def content(self) -> bytes:
        return self._content

    def encode(self, text: bytes) -> np.ndarray:
        (encoding,) = self._library.encode_batch_fast(
            [text.decode("utf-8")], add_special_tokens=False
        )
        spelled = b"".join([self.pieces[n] for n in encoding.ids])
        # SentencePiece may put a space before a text; the first token is then a byte longer.
        if spelled not in (text, b" " + text):
            at = next(
                (n for n, (a, b) in enumerate(zip(text, spelled, strict=False)) if a != b),
                min(len(text), len(spelled)),
            )
            raise ValueError(
                f"{self.where} does not keep the text as it is (byte {at}: "
                f"{text[at : at + 20]!r} becomes {spelled[at : at + 20]!r}): bits per byte would "
                "not be those of the text; use one that normalises nothing and is byte-level"
            )
        return np.array(encoding.ids, dtype=self.dtype)

    def decode(self, tokens: np.ndarray) -> bytes:
        return b"".join([self.pieces[n] for n in np.asarray(tokens).tolist()])

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonTokenizer, (self._content, self.where, self.bos)


def _parse(content: bytes, where: str) -> Any:
    try:
        from tokenizers import Tokenizer as Library
    except ImportError as error:
        raise ValueError(
            f"{where} needs the library tokenizers: pip install 'posexp[bpe]'"
        ) from error
    try:
        library = Library.from_str(content.decode("utf-8"))
    except Exception as error:  # the library raises bare exceptions
        raise ValueError(f"{where} is not a tokenizer.json: {error}") from error
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True
    return library


def _configured_bos(file: Path, content: bytes) -> int | None:
    """The `bos_token` of the tokenizer_config.json beside a tokenizer.json."""
    beside = file.with_name("tokenizer_config.json")
    try:
        named = json.loads(beside.read_text(encoding="utf-8")).get("bos_token")
    except FileNotFoundError:
        return None
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{beside} is not a JSON object: {error}") from error
    named = named.get("content") if isinstance(named, dict) else named
    if named is None:
        return None
    found = _parse(content, str(file)).token_to_id(named)
    if found is None:
        raise ValueError(f"{beside} names {named!r} as BOS, and {file} has no such token")
    return found


def _first_special(described: dict[str, Any]) -> int | None:
    """The id that the post-processor puts before a single text, if it does."""
    processor = described.get("post_processor") or {}
    inner = [processor, *(processor.get("processors") or ())]
    for part in inner:
        first = next(iter(part.get("single") or ()), {})
        if "SpecialToken" in first:
            ids = part["special_tokens"][first["SpecialToken"]["id"]]["ids"]
            return ids[0] if len(ids) == 1 else None
        if part.get("cls"):
            return part["cls"][1]
    return None
