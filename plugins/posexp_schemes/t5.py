"""T5 relative bias: a learned scalar for each head and bucket of distance.

    logit(i, j) = q_i . k_j * logit_scale + table[bucket(n), head],   n = i - j

with i the query's and j the key's position (the paper's code speaks of j - i). With B buckets, of
which E = B // 2 are exact, and M = `max_distance`, a causal distance falls into

    bucket(n) = n                                                      for n < E
                min(E + trunc((B - E) ln(n / E) / ln(M / E)), B - 1)   otherwise

so that the last bucket begins at 113 for the default 32 and 128. Bidirectional attention gives
each direction B/2 buckets by the same rule, the past the first half; bucket B/2 is then never used.

One table (B, H) is shared by all layers. It starts at zero, so that training starts from NoPE: a
choice of ours, as T5 draws it like its other embeddings. T5 also leaves out the 1/sqrt(d_head) on
the logits; here the default keeps it, as for every other scheme, and `logit_scale=1` is T5's own.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer", section 2.1, and `_relative_position_bucket` of its code (mesh_tensorflow).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class T5Config:
    """Buckets, the distance at which they end, and the logit scale. Raises `ValueError`."""

    buckets: int = 32
    max_distance: int = 128
    logit_scale: float | None = None  # null = 1/sqrt(d_head); T5 itself has 1

    def __post_init__(self) -> None:
        if self.buckets < 2:
            raise ValueError(f"t5: buckets must be at least 2, got {self.buckets}")
        if self.buckets > self.max_distance:
            raise ValueError(
                f"t5: more buckets ({self.buckets}) than max_distance={self.max_distance}; "
                f"at most {self.max_distance} buckets"
            )
        if self.logit_scale is not None and not 0 < self.logit_scale < math.inf:
            raise ValueError(f"t5: logit_scale must be positive, got {self.logit_scale}")


class T5(PositionScheme):
    """The bias table[bucket(n)]. Raises `ValueError` if two directions cannot share the buckets."""

    def __init__(self, config: T5Config, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        if not dims.causal and (config.buckets < 4 or config.buckets % 2):
            raise ValueError(
                f"t5: bidirectional attention halves the buckets, so it needs an even number from "
                f"4 on, got {config.buckets}; nearest: {max(4, config.buckets - 1)}"
            )
        self.logit_scale = config.logit_scale
        self.per_direction = config.buckets if dims.causal else config.buckets // 2
        self.edges = _edges(self.per_direction, config.max_distance)
        self.saturates_at = self.edges[-1]
        self.table = nn.Parameter(torch.zeros(config.buckets, dims.n_heads))

    def init_parameter(self, name: str, parameter: Tensor, generator: torch.Generator) -> None:
        """Zero: training starts from NoPE."""
        parameter.zero_()

    def bucket(self, n: Tensor) -> Tensor:
        """The bucket of each distance n = query - key position, any shape; n < 0 is the future."""
        edges = torch.tensor(self.edges, device=n.device, dtype=n.dtype)
        if self.dims.causal:
            return torch.bucketize(n.clamp(min=0), edges, right=True)
        return torch.bucketize(n.abs(), edges, right=True) + self.per_direction * (n < 0)

    def distance_bias(self, n: Tensor) -> Tensor:
        """(N,) -> (H, N), float32 or better."""
        table = self.table.to(torch.promote_types(self.table.dtype, torch.float32))
        return table[self.bucket(n)].mT


def _edges(buckets: int, max_distance: int) -> list[int]:
    """The first distance of buckets 1, 2, ...

    Solved in whole numbers: the logarithm of the definition, rounded by one device or the other,
    would move a distance that lies exactly on an edge.
    """
    exact = buckets // 2
    rest = buckets - exact
    logarithmic = [
        bisect_left(
            range(max_distance + 1),
            exact ** (rest - step) * max_distance**step,
            key=lambda m: m**rest,
        )
        for step in range(rest)
    ]
    return [*range(1, exact), *logarithmic]


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("t5", T5Config, T5)]
