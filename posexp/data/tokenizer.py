"""What a token is: the tokenizer of a corpus, and how many bytes of text each of its tokens is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from posexp.data.tokens import BOS, TOKENIZER, VOCABULARY, from_bytes


class Tokenizer(ABC):
    """Bytes of UTF-8 to tokens and back.

    bos
        The id of BOS. It stands in no text.
    vocabulary
        V, the number of ids, BOS included.
    identity
        Equal for two tokenizers only if they give every text the same tokens and BOS the same id.
    sha256
        Of tokenizer.json; None where there is none.
    token_bytes
        (V,), the bytes of text that each token is, 0 for BOS.
    """

    bos: int
    vocabulary: int
    identity: str
    sha256: str | None = None
    token_bytes: np.ndarray

    @property
    def is_bytes(self) -> bool:
        """Whether a token is a byte and BOS is 256, as tasks and n-gram models have it."""
        return self.identity == TOKENIZER

    @property
    def dtype(self) -> np.dtype:
        """The narrowest of uint16 and uint32 for its tokens, little-endian."""
        return np.dtype("<u2") if self.vocabulary <= 2**16 else np.dtype("<u4")

    @property
    def content(self) -> bytes | None:
        """The file tokenizer.json; None where there is none."""
        return None

    @abstractmethod
    def encode(self, text: bytes) -> np.ndarray:
        """The tokens (N,) of `dtype`, without BOS. Raises `ValueError` where text would be lost."""

    @abstractmethod
    def decode(self, tokens: np.ndarray) -> bytes:
        """The text of tokens, BOS left out. Raises `ValueError` where it is not known."""

    def record(self) -> dict[str, Any]:
        """What is kept with prepared data and with every checkpoint: plain values."""
        return {
            "identity": self.identity,
            "sha256": self.sha256,
            "vocabulary": self.vocabulary,
            "bos": self.bos,
        }


class ByteTokenizer(Tokenizer):
    """A token is a byte, and BOS is one symbol more."""

    bos, vocabulary, identity = BOS, VOCABULARY, TOKENIZER
    token_bytes = np.array([1] * BOS + [0])

    def encode(self, text: bytes) -> np.ndarray:
        return from_bytes(text)

    def decode(self, tokens: np.ndarray) -> bytes:
        tokens = np.asarray(tokens)
        return tokens[tokens != BOS].astype(np.uint8).tobytes()


BYTES = ByteTokenizer()


class UnknownTokenizer(Tokenizer):
    """Tokens that came without their tokenizer: all that is known is how many there are, and how
    many bytes one is on average. BOS is one id more."""

    def __init__(self, tokens: int, bytes_per_token: float) -> None:
        self.bos, self.vocabulary = tokens, tokens + 1
        self.token_bytes = np.append(np.full(tokens, float(bytes_per_token)), 0.0)
        self.identity = f"unknown, {tokens} tokens of {bytes_per_token:g} bytes, BOS {tokens}"

    def encode(self, text: bytes) -> np.ndarray:
        raise ValueError(f"{_NO_TEXT}, so that text cannot be turned into tokens")

    def decode(self, tokens: np.ndarray) -> bytes:
        raise ValueError(f"{_NO_TEXT}, so that tokens cannot be turned into text")


_NO_TEXT = (
    "the tokens came without their tokenizer (data=bin without data.tokenizer=.../tokenizer.json)"
)


def check_tokenizer(recorded: Mapping[str, Any], tokenizer: Tokenizer, where: str) -> None:
    """Raise `ValueError` unless `tokenizer` is the recorded one; `where` says who recorded it."""
    then = recorded["identity"]
    if tokenizer.identity != then:
        raise ValueError(
            f"the tokenizer is not that of {where}: {tokenizer.identity} now, {then} then; "
            "its tokens would mean other text"
        )
