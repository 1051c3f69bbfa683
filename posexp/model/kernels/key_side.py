"""A bias that is linear in distance, in its key-side form (ALiBi and its kin).

For a causal query at i, -m (i - j) = m j - m i, and softmax ignores the part -m i that a row
shares. What is left depends on the key alone: no T x S tensor is made, and the fused kernel stays
fused.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme

#: Key positions are split as SPLIT * high + low, both exact in bfloat16.
SPLIT = 256
#: Extra columns on q, k and v: fused kernels like widths that are multiples of 8.
COLUMNS = 8


class KeySideKernel:
    """Fused causal attention with slope * key position added to the logits.

    Where the fused kernel takes a mask of stride 0 beside `is_causal` (CPU), the bias is such a
    mask in float32. Elsewhere it rides on extra columns: q holds the slope, k the position.
    """

    name = "key_side"
    honours = BEFORE_ATTENTION | {"distance_slopes"}

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if not causal:
            return "the key-side form drops a term that only causal rows share"
        if "distance_slopes" not in scheme.acts_on:
            return "the scheme has no distance_slopes"
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        return layout.is_plain

    def prepare(self, scheme: PositionScheme, layout: Layout) -> tuple[Tensor, Tensor]:
        # Keys count back from the last one, so the largest bias is 0 and exp never overflows.
        positions = layout.k_positions
        from_last = positions - positions[-1]
        return scheme.distance_slopes(positions.device).float(), from_last  # (H,), (S,)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, prepared: tuple[Tensor, Tensor], dropout: float
    ) -> Tensor:
        slopes, from_last = prepared
        if slopes.requires_grad or not mask_beside_causal(q.device.type, q.dtype):
            return attend_with_columns(q, k, v, slopes, from_last)
        key_bias = slopes[:, None] * from_last
        mask = key_bias[None, :, None, :].expand(1, -1, q.shape[-2], -1)
        return F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            is_causal=True,
            scale=1.0,
            enable_gqa=k.shape[1] < q.shape[1],
        )


def attend_with_columns(
    q: Tensor, k: Tensor, v: Tensor, slopes: Tensor, from_last: Tensor
) -> Tensor:
    """The same with the bias in extra columns, for fused kernels that take no mask.

    slope * position = (s + s') * (SPLIT h + l), with s + s' the slope and its rounding error, and
    h, l integers: every factor is exact in bfloat16.
    """
    n_heads, n_kv_heads = q.shape[1], k.shape[1]
    high = from_last.div(SPLIT, rounding_mode="floor")
    low = from_last - high * SPLIT
    rounded = slopes.to(q.dtype)
    rest = (slopes - rounded.float()).to(q.dtype)
    query_side = torch.stack((rounded * SPLIT, rest * SPLIT, rounded, rest), -1)  # (H, 4)
    key_side = torch.stack((high, high, low, low), -1).to(k.dtype)  # (S, 4)
    batch, length, width = q.shape[0], q.shape[2], q.shape[3]
    query_side = F.pad(query_side, (0, COLUMNS - 4))[None, :, None]
    key_side = F.pad(key_side, (0, COLUMNS - 4))[None, None]
    out = F.scaled_dot_product_attention(
        torch.cat((q, query_side.expand(batch, n_heads, length, COLUMNS)), -1),
        torch.cat((k, key_side.expand(batch, n_kv_heads, k.shape[2], COLUMNS)), -1),
        F.pad(v, (0, COLUMNS)),  # one width for q, k and v
        is_causal=True,
        scale=1.0,
        enable_gqa=n_kv_heads < n_heads,
    )
    return out[..., :width]


@torch.compiler.assume_constant_result
def mask_beside_causal(device_type: str, dtype: torch.dtype) -> bool:
    """Whether fused attention takes a stride-0 float32 mask together with `is_causal` here."""
    return _probe(device_type, dtype)


@cache  # in a function of its own: torch.compile looks into a cached one, and warns of it
def _probe(device_type: str, dtype: torch.dtype) -> bool:
    q = torch.zeros(1, 1, 2, 8, device=device_type, dtype=dtype)
    mask = torch.zeros(1, 1, 1, 2, device=device_type).expand(1, 1, 2, 2)
    try:
        F.scaled_dot_product_attention(q, q, q, attn_mask=mask, is_causal=True, scale=1.0)
    except RuntimeError:
        return False
    return True
