"""Distance functions that saturate (Shaw): a dense band near the diagonal, the rest fused.

With K = `scheme.saturates_at`, every key at distance n >= K gets the same vectors a_K, c_K and the
same bias b_K. Softmax ignores what a whole row shares, so a_K and b_K can be subtracted everywhere:
keys that far away are then plain attention, and only the band n < K is left with terms of its own.

    far   keys j <= i - K: fused causal attention of q[K:] on k[:-K]
    near  keys i - K < j <= i, in blocks of queries: q (k + a_n - a_K)^T + b_n - b_K

The two are merged by their log-sum-exp, and c_K is added to every row.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.eager import BY_DISTANCE, EagerKernel, Prepared
from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme

#: Queries in a block of the band; a block sees BLOCK + K - 1 keys.
BLOCK = 64


@dataclass(frozen=True)
class Band:
    """The terms at distances 0 .. K, those at K last."""

    width: int  # K
    keys: Tensor | None  # (H or 1, K + 1, d)
    values: Tensor | None  # (H or 1, K + 1, d)
    bias: Tensor | None  # (H, K + 1)


class BandKernel:
    """Evaluation at nearly the speed of plain attention; training goes the dense way, as eager.

    The fused kernel's log-sum-exp is taken from PyTorch's CPU flash kernel, so there it is exact
    and elsewhere it is not offered.
    """

    name = "band"
    honours = BEFORE_ATTENTION | BY_DISTANCE

    def __init__(self) -> None:
        self._dense = EagerKernel()

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if dropout:
            return "dropout on attention weights exists only in the eager kernel"
        if not causal:
            return "the band has one far side, and bidirectional attention two"
        if scheme.saturates_at is None:
            return "the scheme does not declare saturates_at"
        return unhonoured(self, scheme)

    def accepts(self, layout: Layout) -> bool:
        return layout.is_plain and layout.q_positions.device.type == "cpu"

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Band | Prepared:
        if torch.is_grad_enabled():
            return self._dense.prepare(scheme, layout)
        width = scheme.saturates_at
        n = torch.arange(width + 1, device=layout.q_positions.device)
        bias = scheme.distance_bias(n)
        return Band(width, scheme.distance_keys(n), scheme.distance_values(n), bias)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, prepared: Band | Prepared, dropout: float
    ) -> Tensor:
        if isinstance(prepared, Prepared):
            return self._dense.attend(q, k, v, prepared, dropout)
        dtype, groups = q.dtype, q.shape[1] // k.shape[1]
        q, k, v = (x.float() for x in (q, k.repeat_interleave(groups, 1), v))
        v = v.repeat_interleave(groups, 1)
        out, logsumexp = near(q, k, v, prepared)
        width = prepared.width
        if q.shape[2] > width:
            far, far_logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                q[:, :, width:], k[:, :, :-width], v[:, :, :-width], 0.0, True, scale=1.0
            )
            share = torch.sigmoid(far_logsumexp.float() - logsumexp[:, :, width:])[..., None]
            out = torch.cat(
                (out[:, :, :width], out[:, :, width:] * (1 - share) + far * share), dim=2
            )
        if prepared.values is not None:
            out = out + prepared.values[:, -1:].float()
        return out.to(dtype)


def near(q: Tensor, k: Tensor, v: Tensor, band: Band) -> tuple[Tensor, Tensor]:
    """Attention (B, H, T, d) within the band, less the far terms, and its log-sum-exp (B, H, T)."""
    length, width = q.shape[2], band.width
    tail = -length % BLOCK
    # Block b holds queries b BLOCK .. and sees keys from b BLOCK - (K - 1) on.
    blocks = F.pad(q, (0, 0, 0, tail)).unflatten(2, (-1, BLOCK))  # (B, H, blocks, BLOCK, d)
    k, v = (
        F.pad(x, (0, 0, width - 1, tail)).unfold(2, BLOCK + width - 1, BLOCK) for x in (k, v)
    )  # (B, H, blocks, d, BLOCK + K - 1)
    query = torch.arange(BLOCK, device=q.device)[:, None]
    key = torch.arange(BLOCK + width - 1, device=q.device)
    n = query + width - 1 - key  # (BLOCK, BLOCK + K - 1)
    index = n.clamp(0, width)

    scores = blocks @ k
    if band.keys is not None:
        vectors = (band.keys - band.keys[:, -1:]).float()[:, None]  # (H or 1, 1, K + 1, d)
        by_distance = blocks @ vectors.mT
        scores = scores + by_distance.gather(-1, index.expand(scores.shape))
    if band.bias is not None:
        scores = scores + (band.bias - band.bias[:, -1:]).float()[:, index][:, None]
    starts = torch.arange(blocks.shape[2], device=q.device)[:, None, None] * BLOCK
    visible = (n >= 0) & (n < width) & (starts + key >= width - 1)
    scores = scores.masked_fill(~visible, -torch.inf)
    weights = scores.softmax(-1)
    out = weights @ v.mT
    if band.values is not None:
        vectors = (band.values - band.values[:, -1:]).float()[:, None]
        by_distance = torch.zeros(*weights.shape[:-1], width + 1, device=q.device)
        by_distance.scatter_add_(-1, index.expand(weights.shape), weights)
        out = out + by_distance @ vectors
    logsumexp = scores.logsumexp(-1)
    return out.flatten(2, 3)[:, :, :length], logsumexp.flatten(2, 3)[:, :, :length]
