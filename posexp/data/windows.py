"""Training samples: sample n is a pure function of (seed_data, n), whoever draws it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from posexp.data.bos import first_start, window
from posexp.data.documents import Document, lengths
from posexp.data.packing import pack_documents
from posexp.data.table import WindowTable, window_table
from posexp.data.tokens import BOS

__all__ = ["TrainingWindows", "window"]


class TrainingWindows(Dataset[dict[str, Any]]):
    """`size` windows of `context_length` = T, drawn from the documents with replacement.

    Uniform over all (document, offset) pairs. Documents that are too short for a window are put
    into packs once and for all (`posexp.data.table`). `token` is the id of BOS.

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
        token: int = BOS,
    ) -> None:
        if context_length < 1:
            raise ValueError(f"context_length must be 1 or more, not {context_length}")
        if not 0 <= seed_data < 2**64:
            raise ValueError(f"seed_data must be 0 to 2**64 - 1, not {seed_data}")
        self.documents = documents
        self.context_length = context_length
        self.seed_data = seed_data
        self.bos = bos
        self.size = size
        self.token = token
        if not self.table.pairs:
            raise ValueError(
                f"there is no window to draw: {len(documents)} documents with "
                f"{int(lengths(documents).sum())} tokens hold no target (bos={bos})"
            )

    @cached_property
    def table(self) -> WindowTable:
        """Which windows there are; it stays behind where a loader's worker is sent this."""
        return window_table(self.documents, self.context_length, self.bos)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "table"}

    @property
    def packed(self) -> bool:
        """Whether items carry "documents" and "positions"."""
        return bool(len(self.table.pack_ends))

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, n: int) -> dict[str, Any]:
        if not 0 <= n < self.size:
            raise IndexError(f"sample {n} is outside 0 .. {self.size - 1}")
        arrays = self._arrays(self.table.find(draw(self.seed_data, n, self.table.pairs)))
        return {name: torch.from_numpy(a) for name, a in arrays.items()} | {"index": n}

    def _arrays(self, found: tuple[int, int] | list[int]) -> dict[str, np.ndarray]:
        rule = self.context_length, self.bos, self.token
        if isinstance(found, list):
            return pack_documents([self.documents[n].tokens for n in found], *rule)
        document, offset = found
        inputs, targets = window(
            self.documents[document].tokens, first_start(self.bos) + offset, *rule
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
