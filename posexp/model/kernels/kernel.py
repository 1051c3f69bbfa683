"""What every kernel offers to the attention page.

Shapes: B batch, T queries, S keys, H query heads, d head width. A kernel gets k and v with H heads
or with n_kv_heads, and q already scaled.
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from posexp.model.layout import Layout
from posexp.scheme import PositionScheme

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


def unhonoured(kernel: Kernel, scheme: PositionScheme) -> str | None:
    """Why `kernel` cannot serve what `scheme` acts on, or None."""
    missing = sorted(scheme.acts_on - kernel.honours)
    if not missing:
        return None
    return f"the scheme acts on {', '.join(missing)}, which {kernel.name} does not carry out"
