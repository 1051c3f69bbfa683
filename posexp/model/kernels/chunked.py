"""Chunks of positions: each is a sequence of its own, so they are folded into the batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


@dataclass(frozen=True)
class Cut:
    """N, and whether a query sees only what stands before it."""

    chunk: int
    causal: bool


class ChunkedKernel:
    """Plain fused attention within chunks of N tokens, at a cost linear in the length.

    A plain row begins at position 0, so its chunks of positions are N tokens each.
    """

    name = "chunked"
    honours = BEFORE_ATTENTION | {"chunk"}

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if scheme.chunk is None:
            return "the scheme has no chunks"
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        return layout.is_plain

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Cut:
        return Cut(scheme.chunk, layout.causal)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: Cut, dropout: float) -> Tensor:
        gqa = k.shape[1] < q.shape[1]

        def fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(
                q, k, v, is_causal=prepared.causal, scale=1.0, enable_gqa=gqa
            )

        whole = q.shape[2] // prepared.chunk * prepared.chunk
        out = []
        if whole:
            folded = (  # (B, H, N C, d) -> (B N, H, C, d)
                x[:, :, :whole].unflatten(2, (-1, prepared.chunk)).transpose(1, 2).flatten(0, 1)
                for x in (q, k, v)
            )
            by_chunk = fused(*folded).unflatten(0, (len(q), -1))
            out.append(by_chunk.transpose(1, 2).flatten(2, 3))
        if whole < q.shape[2]:
            out.append(fused(*(x[:, :, whole:] for x in (q, k, v))))
        return out[0] if len(out) == 1 else torch.cat(out, 2)
