"""Bytes as tokens: a token is a UTF-8 byte, and BOS is one symbol more.

Bytes need no fitted vocabulary, so a loss in bits per byte means the same on every corpus.
"""

from __future__ import annotations

import numpy as np

BOS = 256
VOCABULARY = 257
TOKENIZER = "utf-8 bytes, BOS 256"

# Little-endian wherever it is written, so that files and fingerprints agree between machines.
DTYPE = np.dtype("<u2")


def encode(text: str) -> np.ndarray:
    """The tokens (N,) uint16 of a text, without BOS.

    Raises `UnicodeEncodeError` for a lone surrogate, which no UTF-8 file can hold.
    """
    return from_bytes(text.encode("utf-8"))


def decode(tokens: np.ndarray) -> str:
    """The text of tokens; BOS is left out, a byte cut off from its character becomes U+FFFD."""
    tokens = np.asarray(tokens)
    return tokens[tokens != BOS].astype(np.uint8).tobytes().decode("utf-8", errors="replace")


def from_bytes(raw: bytes) -> np.ndarray:
    """The tokens (N,) uint16 of bytes that are known to be UTF-8."""
    return np.frombuffer(raw, dtype=np.uint8).astype(DTYPE)
