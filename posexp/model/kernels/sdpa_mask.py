"""Fused attention with a dense mask: padded and packed rows, and masks of any form."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import SPANS, PositionScheme

#: Pairs of positions in a mask, at most: 2048 x 2048. Larger ones go in tiles, so that memory
#: stays linear in the length.
MOST = 2048 * 2048


class SdpaMaskKernel:
    """PyTorch's fused kernel with one boolean mask, where that mask is small."""

    name = "sdpa_mask"
    honours = BEFORE_ATTENTION | {*SPANS, "mask"}

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        return layout.q_positions.shape[-1] * layout.k_positions.shape[-1] <= MOST

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Tensor | None:
        return layout.visible(scheme.mask(layout.q_positions, layout.k_positions))

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, prepared: Tensor | None, dropout: float
    ) -> Tensor:
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=prepared, scale=1.0, enable_gqa=k.shape[1] < q.shape[1]
        )
