"""Distance functions that saturate (Shaw): a dense band near the diagonal, the rest fused.

With K = `scheme.saturates_at`, every key at distance n >= K gets the same vectors a_K, c_K and the
same bias b_K. Softmax ignores what a whole row shares, so a_K and b_K can be subtracted everywhere,
and c_K comes with a weight of 1: keys that far away are then plain attention.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posexp.model.kernels.banded import banded
from posexp.model.kernels.eager import BY_DISTANCE
from posexp.model.kernels.kernel import BEFORE_ATTENTION, exact, for_query_heads, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


@dataclass(frozen=True)
class Terms:
    """What is left at the distances 0 .. K - 1 without the part at K, and c_K."""

    width: int  # K
    keys: Tensor | None  # (H or 1, K, d)
    values: Tensor | None  # (H or 1, K, d)
    bias: Tensor | None  # (H, K)
    far_value: Tensor | None  # (H or 1, 1, d)


class BandKernel:
    """softmax(q (k + a_n)^T + b_n) (v + c_n) for terms that stay as they are from K on."""

    name = "band"
    honours = BEFORE_ATTENTION | BY_DISTANCE

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if not causal:
            return "the band has one far side, and bidirectional attention two"
        if scheme.saturates_at is None:
            return "the scheme does not declare saturates_at"
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        # The log-sum-exp of the far part is that of PyTorch's CPU kernel.
        return layout.is_plain and layout.k_positions.device.type in ("cpu", "meta")

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Terms:
        width = scheme.saturates_at
        n = torch.arange(width + 1, device=layout.k_positions.device)
        values = scheme.distance_values(n)
        return Terms(
            width,
            less_the_last(scheme.distance_keys(n)),
            less_the_last(values),
            less_the_last(scheme.distance_bias(n)),
            None if values is None else values[:, -1:],
        )

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: Terms, dropout: float) -> Tensor:
        k, v = (for_query_heads(x, q.shape[1]) for x in (k, v))
        terms = (
            None if x is None else x.to(exact(q))
            for x in (prepared.keys, prepared.values, prepared.bias)
        )
        out, _ = banded(q, k, v, prepared.width, *terms)
        far_value = prepared.far_value
        return out if far_value is None else (out + far_value).to(out.dtype)


def less_the_last(terms: Tensor | None) -> Tensor | None:
    """Terms (H or 1, K + 1, ...) at 0 .. K - 1, less that at K."""
    return None if terms is None else terms[:, :-1] - terms[:, -1:]
