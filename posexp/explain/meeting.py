"""Queries meet keys: the scores that a scheme makes of given inputs, without a model around it.

Shapes: B batch, T positions, D model width, H query heads, G key/value heads, d head width.

Projections are the identity: head h sees columns h d ... (h + 1) d of the input, so that for a
scheme that acts inside attention only, the inputs are the queries, keys and values themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.dims import AttentionDims
from posexp.model.attention import logit_scale
from posexp.model.kernels.eager import EagerKernel, softmax
from posexp.model.kernels.kernel import for_query_heads
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme

EAGER = EagerKernel()


@dataclass(frozen=True)
class Meeting:
    """Queries of some positions with the keys that they may see, as the eager kernel has them.

    scores
        What the softmax gets, (B, H, T, S), -inf where a key is not seen.
    content
        The product of transformed queries and keys in it.
    weights, out
        The softmax of the scores, and what comes out (B, H, T, d).
    summed
        The values weighted by it, (B, H, T, d), and nothing else.
    """

    scores: Tensor
    content: Tensor
    weights: Tensor
    out: Tensor
    summed: Tensor

    @classmethod
    @torch.no_grad()
    def of(
        cls,
        scheme: PositionScheme,
        layer: PositionScheme,
        dims: AttentionDims,
        x_query: Tensor,
        x_key: Tensor,
        positions: Tensor,
        query: int | None = None,
        causal: bool | None = None,
    ) -> Meeting:
        """Inputs (B, T, D) at `positions` as `scheme` remapped them; of all queries, or of one.

        `scheme` acts on the inputs, `layer` inside attention. Everything is transformed in one
        call of T tokens, also where one `query` alone is asked for, so that a scheme may depend on
        the length.
        """
        causal = dims.causal if causal is None else causal
        x_query, x_key = (scheme.embed(x, positions) for x in (x_query, x_key))
        q = heads(x_query, dims.n_heads, dims) * logit_scale(layer, dims.d_head)
        q = layer.transform_query(q, positions)
        v = heads(x_key, dims.n_kv_heads, dims)
        k = layer.transform_key(v, positions)
        q_positions = positions
        if query is not None:
            stop = query + 1 if causal else len(positions)
            q, k, v = q[:, :, query : query + 1], k[:, :, :stop], v[:, :, :stop]
            q_positions, positions = positions[query : query + 1], positions[:stop]
        layout = Layout(q_positions, positions, causal, consecutive=False)
        prepared = EAGER.prepare(layer, layout)
        k, v = (for_query_heads(x, dims.n_heads) for x in (k, v))
        scores = EAGER.scores(q, k, prepared)
        weights = softmax(scores, prepared.visible)
        out = EAGER.attend(q, k, v, prepared, 0.0)
        return cls(scores, q @ k.mT, weights, out, weights @ v)


def heads(x: Tensor, n_heads: int, dims: AttentionDims) -> Tensor:
    """The columns (B, T, D) by heads, (B, n_heads, T, d): each key head is its first query's."""
    width = dims.n_heads * dims.d_head
    x = F.pad(x, (0, max(0, width - x.shape[-1])))[..., :width]
    return x.unflatten(-1, (dims.n_heads, -1))[:, :, :: dims.n_heads // n_heads].transpose(1, 2)


def standard_normal(dims: AttentionDims, batch: int, length: int) -> tuple[Tensor, Tensor]:
    """Inputs (B, T, D) of queries and of keys, independent."""
    generator = torch.Generator().manual_seed(0)
    shape = (2, batch, length, dims.d_model)
    return tuple(torch.randn(shape, generator=generator))


def remapped(scheme: PositionScheme, length: int) -> Tensor:
    """Where the scheme puts `length` tokens (T,)."""
    return scheme.remap_positions(torch.arange(length))
