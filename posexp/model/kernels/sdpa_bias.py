"""Fused attention with one dense additive bias (T5, and any scheme that only adds to logits)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.eager import EagerKernel, Prepared
from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


class SdpaBiasKernel:
    """softmax(q k^T + b) v with b in float32, invisible keys at -inf, through the fused kernel.

    The fused kernel gives b no gradient. Where b needs one (a learned table in training), the same
    sum is done densely: PyTorch would otherwise leave the fused kernel for its own dense path,
    which computes in bfloat16 under bfloat16. So this is the dense path in training and about ten
    times faster in evaluation.
    """

    name = "sdpa_bias"
    honours = BEFORE_ATTENTION | {"window", "mask", "distance_slopes", "distance_bias", "bias"}

    def __init__(self) -> None:
        self._dense = EagerKernel()

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if dropout:
            return "dropout on attention weights exists only in the eager kernel"
        if not scheme.acts_on & {"distance_slopes", "distance_bias", "bias"}:
            return "the scheme adds no bias"
        return unhonoured(self, scheme)

    def accepts(self, layout: Layout) -> bool:
        return True

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Prepared | Tensor:
        dense = self._dense.prepare(scheme, layout)
        if dense.bias.requires_grad and torch.is_grad_enabled():
            return dense
        bias = dense.bias.float()
        if dense.visible is not None:
            bias = bias.masked_fill(~dense.visible, -torch.inf)
        return bias if bias.ndim == 4 else bias[None]

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, prepared: Prepared | Tensor, dropout: float
    ) -> Tensor:
        if isinstance(prepared, Prepared):
            return self._dense.attend(q, k, v, prepared, dropout)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=prepared, scale=1.0, enable_gqa=k.shape[1] < q.shape[1]
        )
