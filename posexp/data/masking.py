"""Masked windows: which places are hidden, and what stands there instead.

A window holds m tokens of text; BOS is none, nor is the tail of a pack. Of these, max(1, round(rate
m)) are masked, drawn without replacement (Devlin et al. 2019, "BERT", counts them so, too). They
alone are scored, each against the token that stood in its place.

The masks of sample n are a function of (seed_data, n), from a stream of their own: like the text,
they depend neither on devices nor on micro-batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from posexp.data.packing import IGNORED
from posexp.data.tokens import BOS, VOCABULARY
from posexp.data.windows import TrainingWindows
from posexp.objective import Objective

#: Keys of the random streams, apart from each other and from the draw of windows.
TRAINING, TEST = 1, 2


@dataclass(frozen=True)
class Masking:
    """How windows are masked: `rate` and `replace` as in `Objective`.

    The tokenizer has ids 0 to `vocabulary` - 1, `bos` among them.
    """

    rate: float
    replace: str = "mask"
    bos: int = BOS
    vocabulary: int = VOCABULARY

    @classmethod
    def of(
        cls, config: Mapping[str, Any], bos: int = BOS, vocabulary: int = VOCABULARY
    ) -> Masking | None:
        """That of a resolved config; None where nothing is masked."""
        objective = Objective.of(config)
        if not objective.masks:
            return None
        return cls(objective.rate, objective.replace, bos, vocabulary)

    @property
    def token(self) -> int:
        """The id of MASK: the one after the tokenizer's."""
        return self.vocabulary

    def count(self, tokens: int) -> int:
        """How many of so many tokens are masked."""
        return min(tokens, max(1, round(self.rate * tokens)))

    def masked(self, inputs: np.ndarray, seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Sample n, (L,) int64, with its masks, and the targets (L,), -100 where none is."""
        text = np.flatnonzero(inputs != self.bos)
        drawn = uniform(seed, TRAINING, n, 0, 3 * len(inputs)).reshape(3, -1)
        chosen = text[smallest(drawn[0, text], self.count(len(text)))]
        masked, targets = inputs.copy(), np.full_like(inputs, IGNORED)
        targets[chosen] = inputs[chosen]
        masked[chosen] = self._instead(inputs[chosen], *drawn[1:, chosen])
        return masked, targets

    def _instead(self, tokens: np.ndarray, which: np.ndarray, other: np.ndarray) -> np.ndarray:
        if self.replace == "mask":
            return np.full_like(tokens, self.token)
        random = (other * (self.vocabulary - 1)).astype(tokens.dtype)
        random += random >= self.bos  # any id but BOS
        return np.where(which < 0.8, self.token, np.where(which < 0.9, random, tokens))


class MaskedWindows(Dataset[dict[str, Any]]):
    """Windows for masked tokens: the inputs of `windows`, masked; item n as in `TrainingWindows`.

    The last next-token target is no input, and so has no part in it.
    """

    def __init__(self, windows: TrainingWindows, masking: Masking) -> None:
        self.windows = windows
        self.masking = masking

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, n: int) -> dict[str, Any]:
        item = self.windows[n]
        inputs, targets = self.masking.masked(item["inputs"].numpy(), self.windows.seed_data, n)
        return item | {"inputs": torch.from_numpy(inputs), "targets": torch.from_numpy(targets)}


def uniform(seed: int, stream: int, first: int, second: int, count: int) -> np.ndarray:
    """`count` numbers in [0, 1), a function of the keys; each key is 0 to 2**64 - 1.

    Of Philox's raw bits, which NumPy promises for all its versions.
    """
    bits = np.random.Philox(key=seed + (stream << 64), counter=(first << 64) + (second << 128))
    return (bits.random_raw(count) >> np.uint64(11)) * 2.0**-53


def smallest(values: np.ndarray, count: int) -> np.ndarray:
    """The indices of the `count` smallest values."""
    return np.argsort(values, kind="stable")[:count]
