"""Training samples: sample n is a pure function of (seed_data, n), whoever draws it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from posexp.data.bos import count_windows, first_start, window
from posexp.data.documents import Document
from posexp.data.packing import pack_documents, plan_packs

__all__ = ["TrainingWindows", "window"]


class TrainingWindows(Dataset[dict[str, Any]]):
    """`size` windows of `context_length` = T, drawn from the documents with replacement.

    Uniform over all (document, offset) pairs. Documents that are too short for a window are put
    into packs once and for all; a pack of k targets weighs as k pairs, so that a token in a full
    pack is seen as often as one in a long document (a window covers T tokens, and T windows cover
    a token).

    Item n is {"inputs", "targets": int64 (T,), "index": n}. If any document had to be packed,
    `packed` is True and every item also has "documents" and "positions", int64 (T,): see
    `posexp.data.packing`.

    Raises `ValueError` where there is nothing to draw, or for a bad seed, length or bos rule.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        context_length: int,
        seed_data: int,
        bos: str,
        size: int,
    ) -> None:
        if context_length < 1:
            raise ValueError(f"context_length must be 1 or more, not {context_length}")
        if not 0 <= seed_data < 2**64:
            raise ValueError(f"seed_data must be 0 to 2**64 - 1, not {seed_data}")
        self.context_length = context_length
        self.seed_data = seed_data
        self.bos = bos
        self.size = size

        counts = [count_windows(len(d), context_length, bos) for d in documents]
        self._long = [d.tokens for d, count in zip(documents, counts, strict=True) if count]
        short = [d.tokens for d, count in zip(documents, counts, strict=True) if not count]
        targets = [len(tokens) - first_start(bos) for tokens in short]
        packs = plan_packs(targets, context_length)
        self._packs = [[short[i] for i in pack] for pack in packs]
        weights = [c for c in counts if c] + [sum(targets[i] for i in pack) for pack in packs]
        # Exact integers: the end of each long document's, then each pack's, share of the pairs.
        self._ends = np.cumsum(weights, dtype=np.int64)
        if not weights:
            raise ValueError(
                f"there is no window to draw: {len(documents)} documents with "
                f"{sum(len(d) for d in documents)} tokens hold no target (bos={bos})"
            )

    @property
    def packed(self) -> bool:
        """Whether items carry "documents" and "positions"."""
        return bool(self._packs)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, n: int) -> dict[str, Any]:
        if not 0 <= n < self.size:
            raise IndexError(f"sample {n} is outside 0 .. {self.size - 1}")
        pair = draw(self.seed_data, n, int(self._ends[-1]))
        source = int(np.searchsorted(self._ends, pair, side="right"))
        arrays = self._arrays(source, pair)
        return {name: torch.from_numpy(a) for name, a in arrays.items()} | {"index": n}

    def _arrays(self, source: int, pair: int) -> dict[str, np.ndarray]:
        if source >= len(self._long):
            return pack_documents(
                self._packs[source - len(self._long)], self.context_length, self.bos
            )
        offset = pair - (int(self._ends[source - 1]) if source else 0)
        inputs, targets = window(
            self._long[source], first_start(self.bos) + offset, self.context_length, self.bos
        )
        arrays = {"inputs": inputs, "targets": targets}
        if self.packed:
            arrays["documents"] = np.zeros_like(inputs)
            arrays["positions"] = np.arange(self.context_length)
        return arrays


def draw(seed: int, n: int, below: int) -> int:
    """The n-th number of 0 .. below-1 under a seed, uniform to 2**-64.

    A counter-based generator computes it without the n-1 before it (Philox, Salmon et al. 2011).
    NumPy promises these raw bits for all its versions, and not what `Generator` makes of them.
    """
    bits = np.random.Philox(key=seed, counter=n).random_raw()
    return bits * below >> 64
