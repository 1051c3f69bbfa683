"""Fused attention with any bias by query and key, and its exact gradient.

    out_i = sum_j softmax_j(q_i . k_j + b_ij) v_j

B sequences, H heads, T queries, S keys, d head width. The fused CPU kernel takes b as its mask, but
has no gradient for it: PyTorch would go the dense way. The backward pass is that of `recompute`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model.kernels.recompute import TILE_KEYS, TILE_QUERIES, Recomputation


@torch.library.custom_op("posexp::biased", mutates_args=())
def biased(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, causal: bool) -> tuple[Tensor, Tensor]:
    """(B, H, T, d), (B, H, S, d) twice, (H, T, S) -> out (B, H, T, d), log-sum-exp (B, H, T).

    The bias is float32 (or float64 with q), -inf where a key is not visible. `causal` says that it
    is for all keys after a query's own, the last query's being the last. A query that sees no key
    gets zeros.
    """
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    logsumexp = q.new_empty(q.shape[:3], dtype=bias.dtype)
    for queries, n_keys in _blocks(bias, causal):
        out[:, :, queries], logsumexp[:, :, queries] = (
            torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                q[:, :, queries],
                k[:, :, :n_keys],
                v[:, :, :n_keys],
                0.0,
                False,
                attn_mask=bias[None, :, queries, :n_keys],
                scale=1.0,
            )
        )
    return out, logsumexp


@torch.library.custom_op("posexp::biased_backward", mutates_args=())
def biased_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    causal: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of q, k, v and the bias."""
    # Where no key is seen every score is -inf, and whatever is subtracted its weight is 0.
    logsumexp = logsumexp.masked_fill(logsumexp == -torch.inf, 0.0)
    recomputed = Recomputation(grad, q, k, v, out, logsumexp)
    grad_bias = torch.zeros_like(bias, memory_format=torch.contiguous_format)
    for queries, n_keys in _blocks(bias, causal):
        for first in range(0, n_keys, TILE_KEYS):
            keys = slice(first, min(first + TILE_KEYS, n_keys))
            n_queries = queries.stop - queries.start
            for rows, heads in recomputed.tiles(n_queries, keys.stop - keys.start):
                scores = recomputed.add(rows, queries, keys, bias[heads, queries, keys])
                by_head = scores if len(q) == 1 else scores.sum(0, keepdim=True)
                grad_bias[heads, queries, keys] += by_head
    grads = (x.to(q.dtype, memory_format=torch.contiguous_format) for x in recomputed.gradients())
    return *grads, grad_bias


def _blocks(bias: Tensor, causal: bool) -> list[tuple[slice, int]]:
    """Queries in blocks, each with the number of keys that it can see."""
    n_queries, n_keys = bias.shape[1:]
    blocks = []
    for start in range(0, n_queries, TILE_QUERIES):
        stop = min(start + TILE_QUERIES, n_queries)
        blocks.append((slice(start, stop), n_keys - (n_queries - stop if causal else 0)))
    return blocks


@biased.register_fake
def _(q, k, v, bias, causal):
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    return out, q.new_empty(q.shape[:3], dtype=bias.dtype)


@biased_backward.register_fake
def _(grad, q, k, v, bias, out, logsumexp, causal):
    contiguous = torch.contiguous_format
    return tuple(torch.empty_like(x, memory_format=contiguous) for x in (q, k, v, bias))


def _setup_context(ctx, inputs, output) -> None:
    q, k, v, bias, ctx.causal = inputs
    ctx.save_for_backward(q, k, v, bias, *output)


def _backward(ctx, grad: Tensor, _: Tensor | None) -> tuple:
    return *biased_backward(grad, *ctx.saved_tensors, ctx.causal), None


biased.register_autograd(_backward, setup_context=_setup_context)
