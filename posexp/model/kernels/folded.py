"""Sliding windows: blocks of queries on their own block of keys and the one before."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme

#: Queries in a block, at least: smaller ones keep the fused kernel from its stride.
BLOCK = 64


class FoldedKernel:
    """softmax over the W keys that a query sees, at a cost linear in the length.

    Blocks of C = max(W, 64) queries are folded into the batch: one mask (C, 2C) serves them all.
    """

    name = "folded"
    honours = BEFORE_ATTENTION | {"window"}

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if scheme.window is None:
            return "the scheme has no window"
        if not causal:
            return "the blocks look back only, and bidirectional windows ahead as well"
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        return layout.is_plain

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Tensor:
        """(C, 2C), True = attend."""
        block = max(scheme.window, BLOCK)
        query = torch.arange(block, 2 * block, device=layout.q_positions.device)[:, None]
        n = query - torch.arange(2 * block, device=query.device)
        return (n >= 0) & (n < scheme.window)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: Tensor, dropout: float) -> Tensor:
        length, block = q.shape[2], len(prepared)
        gqa = k.shape[1] < q.shape[1]
        first = min(length, block)
        mask = prepared[:first, block : block + first]
        out = F.scaled_dot_product_attention(
            *(x[:, :, :first] for x in (q, k, v)), attn_mask=mask, scale=1.0, enable_gqa=gqa
        )
        if length <= block:
            return out
        tail = -length % block
        q, k, v = (F.pad(x, (0, 0, 0, tail)).unflatten(2, (-1, block)) for x in (q, k, v))
        k, v = (torch.cat((x[:, :, :-1], x[:, :, 1:]), 3) for x in (k, v))
        blocks = F.scaled_dot_product_attention(
            *(x.transpose(1, 2).flatten(0, 1) for x in (q[:, :, 1:], k, v)),
            attn_mask=prepared,
            scale=1.0,
            enable_gqa=gqa,
        )  # (B blocks, H, C, d)
        blocks = blocks.unflatten(0, (len(q), -1)).transpose(1, 2).flatten(2, 3)
        return torch.cat((out, blocks[:, :, : length - block]), 2)
