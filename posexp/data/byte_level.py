"""Which bytes of text each token of a tokenizer.json spells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

SPACE = "\u2581"  # SentencePiece writes a space so
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def pieces(described: Mapping[str, Any]) -> dict[int, bytes]:
    """id -> the text of the token, for every id of a parsed tokenizer.json.

    Byte-level tokens (GPT-2) spell bytes, one letter each; SentencePiece's spell text, with a
    letter of its own for a space. Special tokens are no text. Raises `ValueError` for other kinds
    of tokens, such as WordPiece's, from which spaces cannot be told.
    """
    vocabulary = _vocabulary(described["model"])
    added = {token["id"]: token for token in described.get("added_tokens") or ()}
    parts = {*_types(described.get("pre_tokenizer")), *_types(described.get("decoder"))}
    if "ByteLevel" in parts:
        letters = byte_letters()
        spelled = {
            n: _of_letters(token, letters) for token, n in vocabulary.items() if n not in added
        }
    elif parts & {"Metaspace", "ByteFallback", "Replace"}:
        spelled = {n: _of_text(token) for token, n in vocabulary.items()}
    else:
        kinds = ", ".join(sorted(parts)) or "none"
        raise ValueError(
            f"its tokens do not spell the text byte by byte (parts: {kinds}), so that bits per "
            "byte cannot be told; it must be byte-level or SentencePiece's"
        )
    for n, token in added.items():
        spelled[n] = b"" if token["special"] else token["content"].encode("utf-8")
    return spelled


def byte_letters() -> dict[str, int]:
    """Letter -> byte as GPT-2 has it: printable bytes as they are, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {chr(byte): byte for byte in printable}
    return letters | {chr(0x100 + n): byte for n, byte in enumerate(others)}


def _of_letters(token: str, letters: Mapping[str, int]) -> bytes:
    try:
        return bytes(letters[letter] for letter in token)
    except KeyError as error:
        raise ValueError(f"its token {token!r} is not byte-level: no byte is {error}") from error


def _of_text(token: str) -> bytes:
    byte = _BYTE.fullmatch(token)
    return bytes([int(byte[1], 16)]) if byte else token.replace(SPACE, " ").encode("utf-8")


def _vocabulary(model: Mapping[str, Any]) -> dict[str, int]:
    """Token -> id: a mapping, or Unigram's list of (token, score)."""
    found = model["vocab"]
    return found if isinstance(found, dict) else {token: n for n, (token, _) in enumerate(found)}


def _types(part: Mapping[str, Any] | None) -> Iterator[str]:
    """The types of a part and of those that it is a sequence of."""
    if part is None:
        return
    yield part["type"]
    for key in ("pretokenizers", "decoders", "processors", "normalizers"):
        for inner in part.get(key) or ():
            yield from _types(inner)
