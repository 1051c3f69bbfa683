"""A bias that is a function of distance (T5, KERPLE, Sandwich), fused, in training as well."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import BEFORE_ATTENTION, exact, for_query_heads, unhonoured
from posexp.model.kernels.toeplitz import toeplitz
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


@dataclass(frozen=True)
class Table:
    """The bias at the distances 1 - L .. L - 1, (H, 2L - 1), -inf outside `low` .. `high`.

    From `saturation` on it is one bias, if that is not None.
    """

    bias: Tensor
    low: int
    high: int
    saturation: int | None


class ByDistanceKernel:
    """softmax(q k^T + u(i - j)) v without an L x L tensor; causality and a window belong to u."""

    name = "by_distance"
    honours = BEFORE_ATTENTION | {"window", "distance_slopes", "distance_bias"}

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if not scheme.acts_on & {"distance_slopes", "distance_bias"}:
            return "the scheme has no bias by distance"
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        # Its fused forward pass, a mask by strides with a log-sum-exp, is PyTorch's CPU kernel.
        return layout.is_plain and layout.k_positions.device.type in ("cpu", "meta")

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Table:
        length = layout.k_positions.shape[-1]
        reach = length - 1 if scheme.window is None else min(scheme.window, length) - 1
        low, high = 0 if layout.causal else -reach, reach
        n = torch.arange(low, high + 1, device=layout.k_positions.device)
        outside = (length - 1 + low, length - 1 - high)
        bias = F.pad(scheme.distance_bias(n), outside, value=-torch.inf)
        one_far_side = layout.causal and scheme.window is None
        return Table(bias, low, high, scheme.saturates_at if one_far_side else None)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: Table, dropout: float) -> Tensor:
        k, v = (for_query_heads(x, q.shape[1]) for x in (k, v))
        bias = prepared.bias.to(exact(q))
        return toeplitz(q, k, v, bias, prepared.low, prepared.high, prepared.saturation)[0]
