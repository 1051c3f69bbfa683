"""Shaw's relative positions: a learned vector for each clipped distance, on keys and on values.

    logit(i, j) = q_i . (k_j + a^K[c]) / sqrt(d)
    out(i)      = sum_j p(i, j) (v_j + a^V[c]),   c = clip(j - i, -k, k)

i is the query's and j the key's position. The paper indexes by j - i, the contract by the distance
n = i - j; d is the head width (the paper's d_z), k is `clip`, and the paper's w^K, w^V are rows of
`key_vectors` and `value_vectors` (2k + 1, d), row c + k. Both are shared by all heads and all
layers (the paper has one pair a layer). Beyond k all distances are one. Causal attention never
reads the k rows of the future.

Initialisation: N(0, 0.02).

Shaw, Uszkoreit and Vaswani 2018, "Self-Attention with Relative Position Representations".
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class ShawConfig:
    """The distance beyond which all are one. Raises `ValueError` below 1."""

    clip: int = 16

    def __post_init__(self) -> None:
        if self.clip < 1:
            raise ValueError(f"shaw: clip must be at least 1, got {self.clip}")


class Shaw(PositionScheme):
    """Vectors of distance on keys and values, shared over heads."""

    def __init__(self, config: ShawConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.saturates_at = config.clip
        rows = 2 * config.clip + 1
        self.key_vectors = nn.Parameter(torch.zeros(rows, dims.d_head))
        self.value_vectors = nn.Parameter(torch.zeros(rows, dims.d_head))

    def row(self, n: Tensor) -> Tensor:
        """The row of each distance n = query - key position, any shape."""
        clip = self.config.clip
        return (-n).clamp(-clip, clip) + clip

    def distance_keys(self, n: Tensor) -> Tensor:
        """(N,) -> (1, N, d)."""
        return self.key_vectors[self.row(n)][None]

    def distance_values(self, n: Tensor) -> Tensor:
        """(N,) -> (1, N, d)."""
        return self.value_vectors[self.row(n)][None]


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("shaw", ShawConfig, Shaw)]
