"""Plain fused attention, for schemes that act on positions only."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


class SdpaKernel:
    """PyTorch's fused kernel, causal or bidirectional, without a mask."""

    name = "sdpa"
    honours = BEFORE_ATTENTION

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        return layout.is_square or unmasked(layout)

    def prepare(self, scheme: PositionScheme, layout: Layout) -> bool:
        """Whether the fused kernel is to be causal."""
        return layout.causal and not unmasked(layout)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: bool, dropout: float) -> Tensor:
        return F.scaled_dot_product_attention(
            q, k, v, is_causal=prepared, scale=1.0, enable_gqa=k.shape[1] < q.shape[1]
        )


def unmasked(layout: Layout) -> bool:
    """Whether every query sees every key: bidirectional rows, and one query at the end of all."""
    alone = layout.q_positions.shape[-1] == 1 and layout.keys_after == 0
    return (alone or not layout.causal) and not layout.needs_rows
