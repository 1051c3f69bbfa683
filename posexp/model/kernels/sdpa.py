"""Fused scaled-dot-product attention for schemes that act on positions and visibility only."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


class SdpaKernel:
    """PyTorch's fused kernel: causal without a mask where it can be, else with a boolean mask."""

    name = "sdpa"
    honours = BEFORE_ATTENTION | {"window", "mask"}

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if dropout:
            return "dropout on attention weights exists only in the eager kernel"
        return unhonoured(self, scheme)

    def accepts(self, layout: Layout) -> bool:
        return True

    def prepare(self, scheme: PositionScheme, layout: Layout) -> tuple[Tensor | None, bool]:
        scheme_mask = scheme.mask(layout.q_positions, layout.k_positions)
        if layout.is_plain and scheme_mask is None:
            return None, layout.causal
        return layout.visible(scheme_mask), False

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, prepared: tuple[Tensor | None, bool], dropout: float
    ) -> Tensor:
        mask, is_causal = prepared
        return F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            is_causal=is_causal,
            scale=1.0,
            enable_gqa=k.shape[1] < q.shape[1],
        )
