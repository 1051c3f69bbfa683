"""A model whose logits depend on every earlier token and on the position, and its own definition.

The tests compute the same losses twice: through `posexp.evaluation` with the torch model, and by
loops over single targets with `reference_nll`, in Python floats.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from posexp.data.documents import Corpus, Document

VOCABULARY = 257
BOS = 256
T = 16


class CountingModel:
    """Logit of v at i: (how often v is among inputs 0 .. i) x 8 / (i + 1) + (i + v) % 7 / 8."""

    def __init__(self, max_length: int | None = None) -> None:
        self.max_length = max_length
        self.shapes: list[tuple[int, int]] = []

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        assert tokens.dtype == torch.int64
        assert torch.is_inference_mode_enabled()
        self.shapes.append(tuple(tokens.shape))
        i = torch.arange(tokens.shape[1])[:, None]
        counts = torch.nn.functional.one_hot(tokens, VOCABULARY).cumsum(1)
        v = torch.arange(VOCABULARY)
        return (8 * counts / (i + 1) + (i + v) % 7 / 8).float()


def reference_nll(inputs: list[int], target: int) -> float:
    """Nats of `target` after `inputs`, from the definition of `CountingModel`."""
    i = len(inputs) - 1
    logits = [8 * inputs.count(v) / (i + 1) + (i + v) % 7 / 8 for v in range(VOCABULARY)]
    return math.log(sum(math.exp(logit) for logit in logits)) - logits[target]


class BigramModel:
    """Uses the last token only, so that no context length and no prefix matters."""

    def __init__(self, vocabulary: int = VOCABULARY) -> None:
        self.table = torch.randn(vocabulary, vocabulary, generator=torch.Generator().manual_seed(3))

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.table[tokens]


def document(name: str, split: str, length: int) -> Document:
    """Text of few byte values, other ones in each document."""
    random = np.random.default_rng([length, *name.encode()])
    return Document(name, name, split, random.integers(65, 75, length).astype(np.uint16))


@pytest.fixture
def corpus() -> Corpus:
    """Two test documents of use and one that is too short for 64, with two to borrow from."""
    return Corpus.of(
        "toy",
        [
            document("train", "train", 100),
            document("val-one", "val", 80),
            document("val-short", "val", 30),
            document("val-two", "val", 75),
            document("one", "test", 83),
            document("short", "test", 64),
            document("two", "test", 70),
        ],
    )


@pytest.fixture
def config() -> dict:
    return {
        "lengths": [8, 16, 32, 64],
        "targets": 4,
        "anchors": 1000,
        "split": "test",
        "foreign_split": "val",
        "curve_windows": 1000,
        "literature_windows": 1000,
        "batch_tokens": 64,
    }


@pytest.fixture
def model() -> CountingModel:
    return CountingModel()


@pytest.fixture
def bigram() -> BigramModel:
    return BigramModel()


@pytest.fixture
def reference():
    return reference_nll
