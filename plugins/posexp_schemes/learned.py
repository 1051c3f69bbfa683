"""Learned absolute positions: one trained vector for each position, added to the input.

    x <- x + E[p],   E of shape (max_length, D)

There is nothing to say about a position that has no row: it raises, and is never clamped or
wrapped. A row that training never reached is as meaningless as a missing one; hence the default
length is the training length.

Initialisation: N(0, 0.02), like the token embeddings (GPT-2).

Gehring et al. 2017, "Convolutional Sequence to Sequence Learning" (position embeddings);
Devlin et al. 2019, "BERT", and Radford et al. 2019, "GPT-2".
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class LearnedConfig:
    """The number of positions; null is the training length. Raises `ValueError` below 1."""

    max_length: int | None = None

    def __post_init__(self) -> None:
        if self.max_length is not None and self.max_length < 1:
            raise ValueError(f"learned: max_length must be at least 1, got {self.max_length}")


class Learned(PositionScheme):
    """x + table[positions]. Raises `ValueError` for a position outside the table."""

    shift_invariant = False

    def __init__(self, config: LearnedConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.max_length = config.max_length or dims.context_length
        self.table = nn.Parameter(torch.zeros(self.max_length, dims.d_model))

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add the rows of `positions`, (T,) or (B, T), to the input (B, T, D)."""
        try:
            vectors = F.embedding(positions, self.table)
        except IndexError as error:
            # Only the CPU raises here; a check beforehand would read positions back from a GPU.
            raise ValueError(
                f"learned: position {int(positions.max())} is outside the table of "
                f"{self.max_length} positions (0 to {self.max_length - 1}): a sequence of "
                f"{int(positions.max()) + 1} tokens is longer than max_length={self.max_length}"
            ) from error
        return (x + vectors).type_as(x)


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("learned", LearnedConfig, Learned)]
