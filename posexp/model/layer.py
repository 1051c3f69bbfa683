"""What every kind of attention layer offers, whatever stands between its queries and its output."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posexp.model.cache import Memory
from posexp.model.config import ModelConfig
from posexp.model.kernels import Kernel, legal_kernels
from posexp.scheme import PositionScheme


class AttentionLayer(nn.Module):
    """(B, T, D) -> (B, T, D). The class answers for its kind, before a layer is built.

    A layer is built from a config, the dims and the scheme of its layer, and called with x, the
    scheme, the layout, a kernel, what that kernel prepared, and a memory or None.
    """

    out: nn.Linear
    #: Whether a memory holds sums over the keys: no later transform reaches them.
    sums: bool = False

    def merge(self, attended: Tensor) -> Tensor:
        """The output projection: (B, H, T, d) -> (B, T, D)."""
        return self.out(attended.transpose(1, 2).flatten(2))

    @classmethod
    def refusal(cls, config: ModelConfig, scheme: PositionScheme) -> str | None:
        """Why this attention cannot serve a layer's scheme, or None if it can."""
        return None

    @classmethod
    def legal_kernels(cls, config: ModelConfig, scheme: PositionScheme) -> list[Kernel]:
        """The kernels that may serve a layer's scheme, fastest first; raises as `legal_kernels`."""
        return legal_kernels(config.kernel, scheme, config.causal, config.attention_dropout)

    @classmethod
    def new_memory(cls) -> Memory:
        """What a layer holds in a cache, still empty."""
        return Memory()

    @classmethod
    def bytes_held(cls, config: ModelConfig, dtype: torch.dtype) -> tuple[int, int]:
        """Bytes that a memory holds for each token, and those that do not grow, of one row."""
        raise NotImplementedError

    @classmethod
    def products(cls, config: ModelConfig, length: int, pairs: int) -> int:
        """Multiplications between the tokens of a row, `pairs` of which see each other."""
        raise NotImplementedError

    @classmethod
    def logit_scale(cls, config: ModelConfig, scheme: PositionScheme) -> float | None:
        """The factor on a layer's queries; None where there are no logits."""
        raise NotImplementedError
