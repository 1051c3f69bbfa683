"""The definition: dense attention, any scheme, in float32."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import for_query_heads, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import ACTIONS, PositionScheme

#: The methods that are asked for distances rather than for pairs of positions.
BY_DISTANCE = frozenset({"distance_slopes", "distance_bias", "distance_keys", "distance_values"})


@dataclass(frozen=True)
class Distances:
    """Every distance of a layout once, and where each stands: n[index] = query - key position.

    n is (N,). index is (T, S), or (B, T, S) where positions differ between rows.
    """

    n: Tensor
    index: Tensor

    @classmethod
    def of(cls, layout: Layout) -> Distances:
        """N = T + S - 1 index differences where positions are consecutive, else the unique ones."""
        if layout.consecutive:
            n_queries, n_keys = layout.q_positions.shape[-1], layout.k_positions.shape[-1]
            least, most = 1 - n_queries - layout.keys_after, n_keys - layout.keys_after
            n = torch.arange(least, most, device=layout.q_positions.device)
            return cls(n, layout.index_difference() - least)
        n, index = torch.unique(layout.distance(), return_inverse=True)
        return cls(n, index)

    def spread(self, by_distance: Tensor) -> Tensor:
        """(H, N) -> (H, T, S) or (B, H, T, S)."""
        spread = by_distance[:, self.index]
        return spread if self.index.ndim == 2 else spread.movedim(0, 1)

    def gather(self, scores: Tensor) -> Tensor:
        """One score per query and distance (B, H, T, N) -> one per query and key (B, H, T, S)."""
        index = self.index if self.index.ndim == 2 else self.index[:, None]
        return scores.gather(-1, index.expand(*scores.shape[:-1], index.shape[-1]))

    def collect(self, weights: Tensor) -> Tensor:
        """The transpose of `gather`: (B, H, T, S) -> (B, H, T, N), summing equal distances."""
        index = self.index if self.index.ndim == 2 else self.index[:, None]
        zeros = weights.new_zeros(*weights.shape[:-1], len(self.n))
        return zeros.scatter_add(-1, index.expand(weights.shape), weights)


def dense_bias(
    scheme: PositionScheme, layout: Layout, distances: Distances | None
) -> Tensor | None:
    """The scheme's additive bias (H, T, S), or (B, H, T, S) where rows differ; None without one."""
    if "bias" in scheme.acts_on:
        return scheme.bias(layout.q_positions, layout.k_positions)
    by_distance = None if distances is None else scheme.distance_bias(distances.n)
    return None if by_distance is None else distances.spread(by_distance)


@dataclass(frozen=True)
class Prepared:
    """What one forward pass computes once for all layers with one scheme."""

    scheme: PositionScheme
    layout: Layout
    visible: Tensor | None  # (T, S) or (B, 1, T, S)
    bias: Tensor | None  # (H, T, S) or (B, H, T, S)
    distances: Distances | None
    keys: Tensor | None  # (H or 1, N, d)
    values: Tensor | None  # (H or 1, N, d)


class EagerKernel:
    """softmax(q (k + a_n)^T + b) (v + c_n), with every step of the contract, in float32."""

    name = "eager"
    honours = frozenset(ACTIONS)

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        return unhonoured(self, scheme, dropout=0.0)

    def accepts(self, layout: Layout) -> bool:
        return True

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Prepared:
        q_positions, k_positions = layout.q_positions, layout.k_positions
        distances = Distances.of(layout) if scheme.acts_on & BY_DISTANCE else None
        bias = dense_bias(scheme, layout, distances)
        keys = values = None
        if distances is not None:
            keys, values = scheme.distance_keys(distances.n), scheme.distance_values(distances.n)
        visible = layout.visible(scheme.mask(q_positions, k_positions))
        return Prepared(scheme, layout, visible, bias, distances, keys, values)

    def scores(self, q: Tensor, k: Tensor, prepared: Prepared) -> Tensor:
        """What the softmax gets: (B, H, T, d), (B, G, S, d) -> (B, H, T, S), -inf where masked."""
        k = for_query_heads(k, q.shape[1]).float()
        q = q.float()
        scores = q @ k.mT
        if prepared.keys is not None:
            scores = scores + prepared.distances.gather(q @ prepared.keys.float().mT)
        if prepared.bias is not None:
            scores = scores + prepared.bias.float()
        if prepared.visible is not None:
            scores = scores.masked_fill(~prepared.visible, -torch.inf)
        positions = (prepared.layout.q_positions, prepared.layout.k_positions)
        return prepared.scheme.adjust_scores(scores, q, k, *positions)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: Prepared, dropout: float) -> Tensor:
        v = for_query_heads(v, q.shape[1]).float()
        weights = softmax(self.scores(q, k, prepared), prepared.visible)
        weights = F.dropout(weights, dropout)
        out = weights @ v
        if prepared.values is not None:
            out = out + prepared.distances.collect(weights) @ prepared.values.float()
        positions = (prepared.layout.q_positions, prepared.layout.k_positions)
        return prepared.scheme.adjust_output(out, weights, *positions).to(q.dtype)


def softmax(scores: Tensor, visible: Tensor | None) -> Tensor:
    """Softmax over keys; a row that sees no key gets zeros, and finite gradients."""
    if visible is None:
        return scores.softmax(-1)
    sees_any = visible.any(-1, keepdim=True)
    scores = scores.masked_fill(~visible, -torch.inf).masked_fill(~sees_any, 0.0)
    return scores.softmax(-1).masked_fill(~sees_any, 0.0)
