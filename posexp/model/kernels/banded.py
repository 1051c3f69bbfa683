"""Causal attention with terms at distances below K: a narrow dense band, the rest fused.

    logit(i, j) = q_i . k_j + e_i(i - j)        e_i(n) = q_i . a(n) + b(n) for n < K, else 0
    out_i       = sum_j p_ij (v_j + c(i - j))   c(n) = 0 for n >= K

L tokens, d head width, H heads. Keys at distance K and beyond are plain fused causal attention of
q[K:] on k[:-K]. The band is dense, in float32, in blocks of C queries that see C + K - 1 keys. The
two are merged by their log-sum-exp; given the merged one, the backward pass of each part is that
of attention to its own keys alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model.kernels.blocks import Band
from posexp.model.kernels.kernel import exact

_fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_fused_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


@torch.library.custom_op("posexp::banded", mutates_args=())
def banded(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    width: int,
    keys: Tensor | None,
    values: Tensor | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """(B, H, L, d) three times -> out (B, H, L, d), log-sum-exp (B, H, L).

    At the distances 0 .. K - 1, K = `width`: keys a and values c (H or 1, K, d), bias b (H, K),
    each in float32 (float64 with q) or None.
    """
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    logsumexp = q.new_empty(q.shape[:3], dtype=exact(q))
    for n in range(len(q)):  # a sequence at a time stays in the cache
        band = Band.of(q[n], k[n], width, keys, bias)
        out[n], logsumexp[n] = band.attend(v[n], values)
    if q.shape[2] > width:
        far, of_far = _fused(
            q[:, :, width:], k[:, :, :-width], v[:, :, :-width], 0.0, True, scale=1.0
        )
        total = torch.logaddexp(logsumexp[:, :, width:], of_far.to(logsumexp.dtype))
        share = (of_far - total).exp()[..., None]
        out[:, :, width:] = torch.lerp(
            out[:, :, width:].to(share.dtype), far.to(share.dtype), share
        )
        logsumexp[:, :, width:] = total
    return out, logsumexp


@torch.library.custom_op("posexp::banded_backward", mutates_args=())
def banded_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    width: int,
    keys: Tensor | None,
    values: Tensor | None,
    bias: Tensor | None,
    out: Tensor,
    logsumexp: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of q, k, v, keys, values and bias; empty for one that is None."""
    delta = (grad.to(exact(q)) * out).sum(-1)
    grads = [torch.zeros_like(x, dtype=exact(q)) for x in (q, k, v)]
    by_distance = [x if x is None else torch.zeros_like(x) for x in (keys, values, bias)]
    for n in range(len(q)):
        band = Band.of(q[n], k[n], width, keys, bias)
        band.add_gradients(
            v[n], values, (grad[n], delta[n], logsumexp[n]), [g[n] for g in grads], by_distance
        )
    if q.shape[2] > width:
        far = _fused_backward(
            grad[:, :, width:].contiguous(),
            q[:, :, width:],
            k[:, :, :-width],
            v[:, :, :-width],
            out[:, :, width:],
            logsumexp[:, :, width:].mT.contiguous().mT,
            0.0,
            True,
            scale=1.0,
        )
        seen = (slice(width, None), slice(None, -width), slice(None, -width))
        for total, part, where in zip(grads, far, seen, strict=True):
            total[:, :, where] += part
    return (
        *(g.to(x.dtype) for g, x in zip(grads, (q, k, v), strict=True)),
        *(q.new_empty(0) if g is None else g for g in by_distance),
    )


@banded.register_fake
def _(q, k, v, width, keys, values, bias):
    out = torch.empty_like(q, memory_format=torch.contiguous_format)
    return out, q.new_empty(q.shape[:3], dtype=exact(q))


@banded_backward.register_fake
def _(grad, q, k, v, width, keys, values, bias, out, logsumexp):
    like = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v)]
    by_distance = (keys, values, bias)
    return *like, *(q.new_empty(0) if x is None else torch.empty_like(x) for x in by_distance)


def _setup_context(ctx, inputs, output) -> None:
    q, k, v, ctx.width, keys, values, bias = inputs
    ctx.save_for_backward(q, k, v, keys, values, bias, *output)


def _backward(ctx, grad, _):
    q, k, v, keys, values, bias, *output = ctx.saved_tensors
    grads = banded_backward(grad, q, k, v, ctx.width, keys, values, bias, *output)
    terms = zip(grads[3:], (keys, values, bias), strict=True)
    return *grads[:3], None, *(None if x is None else g for g, x in terms)


banded.register_autograd(_backward, setup_context=_setup_context)
