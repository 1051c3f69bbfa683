"""The backward pass of attention with a bias, in tiles whose scores are computed again, not kept.

    S = q k^T + b      P = exp(S - logsumexp)      dS = P (dO v^T - delta)      delta = dO . O
    dq = dS k          dk = dS^T q                 dv = P^T dO                  db = dS

B sequences, H heads, R = H B rows, T queries, S keys, d head width.

Dao et al. 2022, "FlashAttention".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import torch
from torch import Tensor

from posexp.model.kernels.kernel import LOG2_E

#: Queries, keys and scores in a tile: what stays in the cache of a CPU core.
TILE_QUERIES, TILE_KEYS, TILE_SCORES = 256, 1024, 2 * 256 * 1024


class Recomputation:
    """Attention's inputs, output and its gradient, and the gradients that tiles have added so far.

    grad, q and out are (B, H, T, d), k and v (B, H, S, d), logsumexp (B, H, T) in float32, or
    float64 with q. Rows are ordered by head, so that those of one head share its bias.
    """

    def __init__(
        self, grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, logsumexp: Tensor
    ) -> None:
        self.shape, self.dtype, exact = q.shape[:2], q.dtype, logsumexp.dtype
        self.q, self.grad, self.k, self.v = (by_head(x) for x in (q, grad, k, v))
        delta = (self.grad.to(exact) * by_head(out)).sum(-1, keepdim=True)
        # With one more column the products give S - logsumexp and dP - delta at once, in float32:
        # in bfloat16 the rounding of a logit of 10 would be an error of 4 % in its weight.
        self.q_wide = torch.cat((self.q.to(exact), -by_head(logsumexp[..., None])), -1)
        self.grad_wide = torch.cat((self.grad.to(exact), -delta), -1)
        one = logsumexp.new_ones(*self.k.shape[:2], 1)
        self.k_wide, self.v_wide = (torch.cat((x.to(exact), one), -1) for x in (self.k, self.v))
        self.grads = [torch.zeros_like(x, dtype=exact) for x in (self.q, self.k, self.v)]

    def tiles(self, queries: int, keys: int) -> Iterator[tuple[slice, slice]]:
        """The rows of tiles of so many queries and keys, and their heads.

        Up to `TILE_SCORES`: one head with its sequences, or all of one sequence. Heads times
        sequences would need copies of the bias.
        """
        batch, heads = self.shape
        size = max(1, TILE_SCORES // (queries * keys))
        if batch == 1:
            for head in range(0, heads, size):
                of_head = slice(head, min(head + size, heads))
                yield of_head, of_head
            return
        for head, first in product(range(heads), range(0, batch, size)):
            row = head * batch
            yield slice(row + first, row + min(first + size, batch)), slice(head, head + 1)

    def add(self, rows: slice, queries: slice, keys: slice, bias: Tensor) -> Tensor:
        """Add one tile to the gradients of q, k and v, and give that of its scores, (rows, ...).

        `bias` is (rows or 1, queries, keys), -inf where a key is not visible.
        """
        # A power of 2: see `exp_`.
        weights = torch.baddbmm(
            bias, self.q_wide[rows, queries], self.k_wide[rows, keys].mT, beta=LOG2_E, alpha=LOG2_E
        ).exp2_()
        grad_scores = torch.bmm(self.grad_wide[rows, queries], self.v_wide[rows, keys].mT)
        exact = grad_scores.mul_(weights)
        weights, grad_scores = weights.to(self.dtype), exact.to(self.dtype)
        grad_q, grad_k, grad_v = self.grads
        _add_product(grad_v[rows, keys], weights.mT, self.grad[rows, queries])
        _add_product(grad_q[rows, queries], grad_scores, self.k[rows, keys])
        _add_product(grad_k[rows, keys], grad_scores.mT, self.q[rows, queries])
        return exact

    def gradients(self) -> list[Tensor]:
        """Those of q, k and v, (B, H, ...), still in float32 or float64."""
        batch, heads = self.shape
        return [x.unflatten(0, (heads, batch)).transpose(0, 1) for x in self.grads]


def by_head(x: Tensor) -> Tensor:
    """(B, H, ...) -> (H B, ...)."""
    return x.transpose(0, 1).flatten(0, 1)


def _add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total += a b, summed in the precision of `total`."""
    if a.dtype == total.dtype:
        total.baddbmm_(a, b)
    else:
        total += torch.bmm(a, b)
