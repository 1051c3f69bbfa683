"""Fused attention with a bias that is a function of distance, and its exact gradient.

    out_i = sum_j softmax_j(q_i . k_j + u(i - j)) v_j

L tokens, d head width, H heads. u is a table over the 2L - 1 distances from 1 - L to L - 1, with
-inf where a distance is not visible: causality and windows are entries of it. No L x L tensor is
ever made. Where the keys are reversed, j' = L - 1 - j, the bias of query i and key j' is
u[i + j' + const]: a view of the table with strides (1, 1), which the fused CPU kernel takes as its
mask. The backward pass is that of `recompute`. The gradient of u sums the diagonals of dS: written
into rows one longer than they are, a tile's diagonals become columns.
"""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model.kernels.recompute import TILE_KEYS, TILE_QUERIES, Recomputation

#: Queries in a block of the forward pass.
BLOCK = 256
#: Keys beyond the saturation get a fused backward pass of their own in rows of so many times what a
#: tile's queries see up to there; in shorter ones the second pass costs more than it saves.
LONG = 8


@torch.library.custom_op("posexp::toeplitz", mutates_args=())
def toeplitz(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor,
    low: int,
    high: int,
    saturation: int | None = None,
) -> tuple[Tensor, Tensor]:
    """(B, H, L, d) three times and (H, 2L - 1) -> out (B, H, L, d), log-sum-exp (B, H, L).

    Distances outside low .. high are -inf in `table`, which is float32 (or float64 with q). With a
    `saturation` attention is causal without a window, and all distances from there on share one
    bias; the gradient of them all is given to the entry of `saturation`.
    """
    length = q.shape[2]
    reversed_k, reversed_v = k.flip(2), v.flip(2)
    table = table.contiguous()
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    logsumexp = q.new_empty(q.shape[:3], dtype=table.dtype)
    for start in range(0, length, BLOCK):
        stop = min(start + BLOCK, length)
        first, last = max(0, start - high), min(length, stop - low)
        keys = slice(length - last, length - first)
        out[:, :, start:stop], logsumexp[:, :, start:stop] = (
            torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                q[:, :, start:stop],
                reversed_k[:, :, keys],
                reversed_v[:, :, keys],
                0.0,
                False,
                attn_mask=_bias(table, start, stop, first, last)[None],
                scale=1.0,
            )
        )
    return out, logsumexp


@toeplitz.register_fake
def _(q, k, v, table, low, high, saturation=None):
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    return out, q.new_empty(q.shape[:3], dtype=table.dtype)


@torch.library.custom_op("posexp::toeplitz_backward", mutates_args=())
def toeplitz_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    low: int,
    high: int,
    saturation: int | None,
    for_table: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of q, k, v and the table; the last is zero unless `for_table`."""
    batch, _, length, _ = q.shape
    table = table.contiguous()
    far = None
    if saturation is not None and length > max(saturation, LONG * (TILE_QUERIES + saturation)):
        first_far = length - 1 + saturation
        far = _far_gradients(grad, q, k, v, out, logsumexp - table[:, first_far, None], saturation)
        table, high = table.clone(), saturation - 1
        table[:, first_far:] = -torch.inf

    tiles = Recomputation(grad, q, k.flip(2), v.flip(2), out, logsumexp)
    grad_table = torch.zeros_like(table)
    for start in range(0, length, TILE_QUERIES):
        stop = min(start + TILE_QUERIES, length)
        first_seen, last = max(0, start - high), min(length, stop - low)
        while last > first_seen:
            first = max(first_seen, last - TILE_KEYS)
            queries, keys = slice(start, stop), slice(length - last, length - first)
            bias = _bias(table, start, stop, first, last)
            for rows, of_head in tiles.tiles(stop - start, last - first):
                grad_scores = tiles.add(rows, queries, keys, bias[of_head])
                if for_table:
                    by_head = grad_scores if batch == 1 else grad_scores.sum(0, keepdim=True)
                    grad_table[of_head, _distances(start, stop, first, last, length)] += (
                        diagonal_sums(by_head)
                    )
            last = first
    grad_q, grad_k, grad_v = tiles.gradients()
    grads = grad_q, grad_k.flip(2), grad_v.flip(2)
    if far is not None:
        seen = (slice(saturation, None), slice(None, -saturation), slice(None, -saturation))
        for total, part, where in zip(grads, far, seen, strict=True):
            total[:, :, where] += part
        # The gradients of a row's logits add up to zero.
        grad_table[:, first_far] = -grad_table.sum(1)
    contiguous = torch.contiguous_format
    return *(x.to(q.dtype, memory_format=contiguous) for x in grads), grad_table


@toeplitz_backward.register_fake
def _(grad, q, k, v, table, out, logsumexp, low, high, saturation, for_table):
    contiguous = torch.contiguous_format
    return tuple(torch.empty_like(x, memory_format=contiguous) for x in (q, k, v, table))


def _far_gradients(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, logsumexp: Tensor, distance: int
) -> tuple[Tensor, Tensor, Tensor]:
    """What keys at `distance` and beyond give: causal attention, without a bias, of later queries.

    Given the log-sum-exp over all keys, less their bias, it is a share of the whole gradient.
    """
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grad[:, :, distance:].contiguous(),
        q[:, :, distance:],
        k[:, :, :-distance],
        v[:, :, :-distance],
        out[:, :, distance:],
        # The kernel reads it as it lies in memory: heads inside.
        logsumexp[:, :, distance:].mT.contiguous().mT,
        0.0,
        True,
        scale=1.0,
    )


def _setup_context(ctx, inputs, output) -> None:
    q, k, v, table, *ctx.limits = inputs
    ctx.save_for_backward(q, k, v, table, *output)


def _backward(ctx, grad: Tensor, _: Tensor | None) -> tuple:
    needed = ctx.needs_input_grad
    grads = toeplitz_backward(grad, *ctx.saved_tensors, *ctx.limits, needed[3])
    return *(g if n else None for g, n in zip(grads, needed, strict=False)), None, None, None


toeplitz.register_autograd(_backward, setup_context=_setup_context)


def diagonal_sums(tile: Tensor) -> Tensor:
    """(N, Q, K) -> (N, Q + K - 1): entry c is the sum over i + j = c."""
    n, queries, keys = tile.shape
    width = queries + keys - 1
    # Row i begins i places later than it would, so that column c of the rows holds i + j = c.
    rows = tile.new_zeros(n, queries * (width + 1))
    rows.as_strided(tile.shape, (rows.stride(0), width + 1, 1)).copy_(tile)
    return rows[:, : queries * width].view(n, queries, width).sum(1)


def _bias(table: Tensor, start: int, stop: int, first: int, last: int) -> Tensor:
    """u(i - j) as a view (H, queries, keys), the keys `first` to `last` reversed."""
    heads, n = table.shape
    shape = (heads, stop - start, last - first)
    offset = table.storage_offset() + start - last + (n + 1) // 2
    return table.as_strided(shape, (n, 1, 1), offset)


def _distances(start: int, stop: int, first: int, last: int, length: int) -> slice:
    """Which entries of the table a tile's diagonals are."""
    offset = start - last + length
    return slice(offset, offset + (stop - start) + (last - first) - 1)
