"""One layer's attention on random heads, without a model around it.

Shapes: B batch, T queries, S keys, H query heads, G key/value heads, d head width.
"""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.dims import AttentionDims
from posexp.model.attention import attend as layer_attend
from posexp.model.kernels import Kernel
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


def random_heads(dims: AttentionDims, batch: int, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Standard normal q (B, H, T, d), k and v (B, G, T, d)."""
    generator = torch.Generator().manual_seed(0)
    heads = (dims.n_heads, dims.n_kv_heads, dims.n_kv_heads)
    return tuple(torch.randn(batch, h, length, dims.d_head, generator=generator) for h in heads)


def attend(
    scheme: PositionScheme, kernel: Kernel, layout: Layout, q: Tensor, k: Tensor, v: Tensor
) -> Tensor:
    """What `kernel` makes of one layer's scheme: (B, H, T, d)."""
    return layer_attend(q, k, v, scheme, layout, kernel, kernel.prepare(scheme, layout))
