"""The n-gram baseline: an interpolated Witten-Bell byte model, counted with numpy.

Order n uses n-1 bytes of context h. With N(h) the occurrences of h in training, U(h) the number of
distinct bytes seen after it and h' the context without its oldest byte,

    P(c | h) = (N(h, c) + U(h) P(c | h')) / (N(h) + U(h)),

and P(c | h') itself where h never occurred; below the empty context all 256 bytes are equal.
Every document is preceded by n-1 BOS, so no context crosses a document. Witten and Bell 1991, "The
zero-frequency problem", method C; interpolated as in Chen and Goodman 1999.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from posexp.data.documents import Corpus, Document, lengths
from posexp.data.tokenizer import BYTES
from posexp.data.tokens import BOS

BITS = 9  # a byte or BOS
MAX_ORDER = 7  # 7 symbols of 9 bits fit an int64
MAX_TOKENS = 2**26  # counting takes some 100 bytes a byte


def bytes_of(corpus: Corpus, split: str) -> list[Document]:
    """The documents of one split as bytes, whatever the tokenizer.

    Raises `ValueError` where there are more than MAX_TOKENS, all of which would be in memory, and
    for a tokenizer that is not known.
    """
    documents = corpus.split(split)
    if lengths(documents).sum() > MAX_TOKENS:
        raise ValueError(f"{split} has more than {MAX_TOKENS} tokens to count in memory")
    if corpus.tokenizer.is_bytes:
        return list(documents)
    texts = (corpus.tokenizer.decode(d.tokens) for d in documents)
    return [replace(d, tokens=BYTES.encode(text)) for d, text in zip(documents, texts, strict=True)]


def bits_per_byte(
    train_documents: Sequence[Document], test_documents: Sequence[Document], order: int
) -> float:
    """The mean of -log2 P over all bytes of the test documents, counted on the train documents.

    Raises `ValueError` for an order outside 1..7 and where either side has no bytes.
    """
    if not 1 <= order <= MAX_ORDER:
        raise ValueError(f"the n-gram order must be 1 to {MAX_ORDER}, not {order}")
    for side, documents in (("train", train_documents), ("test", test_documents)):
        if not sum(len(d) for d in documents):
            raise ValueError(f"the n-gram baseline needs {side} documents, and there are none")
    probability = np.full(sum(len(d) for d in test_documents), 1 / 256)
    for n in range(1, order + 1):
        probability = _interpolate(
            probability, _grams(train_documents, n), _grams(test_documents, n)
        )
    return float(-np.log2(probability).mean())


def _grams(documents: Sequence[Document], n: int) -> np.ndarray:
    """The n symbols that end at each byte, packed into one int64 with the newest lowest."""
    packed = []
    for document in documents:
        symbols = np.concatenate([np.full(n - 1, BOS), document.tokens.astype(np.int64)])
        codes = np.zeros(len(document), dtype=np.int64)
        for age in range(n):
            codes = codes << BITS | symbols[age : age + len(document)]
        packed.append(codes)
    return np.concatenate(packed)


def _interpolate(lower: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """P(c | h) at each test byte (N,), given P(c | h') and the n-grams of train and test."""
    grams, gram_counts = np.unique(train, return_counts=True)
    # Sorted n-grams have those of one context side by side, so a context is a run.
    contexts, first, distinct = np.unique(grams >> BITS, return_index=True, return_counts=True)
    context_counts = np.add.reduceat(gram_counts, first)
    gram, gram_seen = _find(grams, test)
    context, context_seen = _find(contexts, test >> BITS)
    count = np.where(gram_seen, gram_counts[gram], 0)
    mixed = count + distinct[context] * lower
    mixed /= context_counts[context] + distinct[context]
    return np.where(context_seen, mixed, lower)


def _find(sorted_keys: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each wanted key would stand, and whether it is really there."""
    index = np.minimum(np.searchsorted(sorted_keys, wanted), len(sorted_keys) - 1)
    return index, sorted_keys[index] == wanted
