"""FIRE: a small network of the distance, measured against how far the query stands.

    logit(i, j) = q_i . k_j / sqrt(d) + f_h(psi(|i - j|) / psi(max(L, i))),   psi(x) = ln(c x + 1)

i and j count from 1: they are the positions of posexp + 1. f is a network of one hidden layer, from
1 over `width` to H numbers. Up to L only the distance counts; beyond, the same distance weighs less
the further the query stands, so no input is larger than in training. All of it is learned and
shared by all layers: c and L > 0, kept positive by their absolute value, L as a multiple of
`threshold` (as it would hardly move by itself), all as in the authors' code. Left out are its
epsilon and the last bias of f: a constant for all keys of a query is lost in the softmax.

Li et al. 2023, "Functional Interpolation for Relative Positions Improves Long Context
Transformers".
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class FireConfig:
    """The hidden layer, and what c and L start at. Raises `ValueError` unless all are positive."""

    width: int = 32
    c: float = 0.1
    threshold: float = 512.0  # L

    def __post_init__(self) -> None:
        for name in ("width", "c", "threshold"):
            if not getattr(self, name) > 0:
                raise ValueError(f"fire: {name} must be positive, got {getattr(self, name)}")


class Fire(PositionScheme):
    """The bias of both positions: it is no function of their distance, so `bias` is overridden."""

    shift_invariant = False

    def __init__(self, config: FireConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.c = nn.Parameter(torch.zeros(()))
        self.multiplier = nn.Parameter(torch.zeros(()))  # L = multiplier * threshold
        self.hidden_weight = nn.Parameter(torch.zeros(config.width, 1))
        self.hidden_bias = nn.Parameter(torch.zeros(config.width))
        self.weight = nn.Parameter(torch.zeros(dims.n_heads, config.width))

    def init_parameter(self, name: str, parameter: Tensor, generator: torch.Generator) -> None:
        """c and L start as configured, f as PyTorch starts a linear layer: U(+-1/sqrt(fan in))."""
        if name in ("c", "multiplier"):
            parameter.fill_(self.config.c if name == "c" else 1.0)
        else:
            bound = self.config.width**-0.5 if name == "weight" else 1.0
            parameter.uniform_(-bound, bound, generator=generator)

    def relative(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """The input of f, (..., T), (..., S) -> (..., T, S), float32."""
        c, limit = self.c.float().abs(), self.multiplier.float().abs() * self.config.threshold
        distance = (q_positions[..., :, None] - k_positions[..., None, :]).abs()
        reach = torch.maximum(q_positions.float() + 1, limit)
        return torch.log1p(c * distance) / torch.log1p(c * reach)[..., :, None]

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor:
        """(..., T), (..., S) -> (..., H, T, S), float32."""
        x = self.relative(q_positions, k_positions)[..., None]
        hidden = F.relu(F.linear(x, self.hidden_weight.float(), self.hidden_bias.float()))
        return F.linear(hidden, self.weight.float()).movedim(-1, -3)


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("fire", FireConfig, Fire)]
