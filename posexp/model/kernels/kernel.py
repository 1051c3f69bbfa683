"""What every kernel offers to the attention page.

Shapes: B batch, T queries, S keys, H query heads, d head width. A kernel gets k and v with H heads
or with n_kv_heads, and q already scaled.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import torch
from torch import Tensor

from posexp.model.layout import Layout
from posexp.scheme import PositionScheme

LOG2_E = math.log2(math.e)

#: What the model does before any kernel runs, so every kernel honours it.
BEFORE_ATTENTION = frozenset({"remap_positions", "embed", "transform_query", "transform_key"})


class Kernel(Protocol):
    """One exact way to compute softmax(q k^T + what the scheme says) v."""

    name: str
    #: The contract's methods that this kernel carries out.
    honours: frozenset[str]

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        """Why this kernel cannot serve a layer's scheme, or None if it can."""

    def accepts(self, layout: Layout) -> bool:
        """Whether this kernel can serve a forward pass laid out like this."""

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Any:
        """What all layers with this scheme share in one forward pass: masks and biases."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: Any, dropout: float) -> Tensor:
        """(B, H, T, d), (B, n_kv_heads, S, d) twice -> (B, H, T, d). `dropout` is on weights."""


def unhonoured(kernel: Kernel, scheme: PositionScheme, dropout: float) -> str | None:
    """Why `kernel` cannot serve what `scheme` acts on, or dropout on weights; or None."""
    if dropout:
        return "dropout on attention weights exists only in the eager kernel"
    missing = sorted(scheme.acts_on - kernel.honours)
    if not missing:
        return None
    return f"the scheme acts on {', '.join(missing)}, which {kernel.name} does not carry out"


def for_query_heads(x: Tensor, n_heads: int) -> Tensor:
    """Keys or values (B, n_kv_heads, S, d) -> (B, H, S, d), each head as often as it is asked."""
    groups = n_heads // x.shape[1]
    return x if groups == 1 else x.repeat_interleave(groups, 1)


def exact(x: Tensor) -> torch.dtype:
    """The precision of logits and sums: float32, or float64 for x in float64."""
    return torch.promote_types(x.dtype, torch.float32)


def exp_(x: Tensor) -> Tensor:
    """e^x in place, by a power of 2: torch's `exp` takes 8 to 80 times as long on a CPU for -inf
    and where it underflows, and a logit does both."""
    return x.mul_(LOG2_E).exp2_()
