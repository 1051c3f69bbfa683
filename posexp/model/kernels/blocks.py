"""The band of `banded` in blocks: C queries, and the C + K - 1 keys that they see.

H heads, L tokens, N blocks, d head width, K the width of the band.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.kernels.kernel import exact, exp_

#: C, queries in a block.
BLOCK = 32


@dataclass(frozen=True)
class Band:
    """The band of one sequence, N blocks of C queries, in float32 or float64."""

    width: int  # K
    length: int  # L
    q: Tensor  # (H, N, C, d)
    k: Tensor  # (H, N, C + K - 1, d)
    vectors: Tensor | None  # a, (H or 1, 1, K, d)
    scores: Tensor  # (H, N, C, C + K - 1), -inf beside the band

    @classmethod
    def of(cls, q: Tensor, k: Tensor, width: int, keys: Tensor | None, bias: Tensor | None) -> Band:
        """From q and k (H, L, d)."""
        length = q.shape[1]
        q, k = blocks(q), windows(k, width)
        vectors = None if keys is None else keys[:, None]
        terms = q.new_zeros(*q.shape[:3], width) if vectors is None else q @ vectors.mT
        if bias is not None:
            terms = terms + bias[:, None, None]
        # The first K - 1 queries have fewer keys than K before them.
        early = terms.flatten(1, 2)[:, : width - 1]
        n = torch.arange(width, device=q.device)
        early.masked_fill_(n > n[: early.shape[1], None], -torch.inf)
        return cls(width, length, q, k, vectors, q @ k.mT + spread(terms, -torch.inf))

    def attend(self, v: Tensor, values: Tensor | None) -> tuple[Tensor, Tensor]:
        """v (H, L, d) -> out (H, L, d), log-sum-exp (H, L)."""
        most = self.scores.amax(-1, keepdim=True)
        weights = exp_(self.scores - most)
        total = weights.sum(-1, keepdim=True)
        logsumexp = most + total.log()
        weights /= total
        out = weights @ windows(v, self.width)
        if values is not None:
            out = out + collect(weights, self.width) @ values[:, None]
        return self.rows(out), self.rows(logsumexp)[..., 0]

    def add_gradients(
        self,
        v: Tensor,
        values: Tensor | None,
        given: tuple[Tensor, Tensor, Tensor],
        grads: list[Tensor],
        by_distance: list[Tensor | None],
    ) -> None:
        """Add this part's gradients to those of q, k, v and of keys, values, bias.

        `given` is the gradient (H, L, d) of the merged output, its row sums with it, and the
        merged log-sum-exp, (H, L) each.
        """
        grad, delta, logsumexp = (blocks(x if x.ndim == 3 else x[..., None]) for x in given)
        weights = exp_(self.scores - logsumexp)
        if self.length % BLOCK:
            weights.flatten(1, 2)[:, self.length :] = 0
        grad_weights = grad @ windows(v, self.width).mT
        if values is not None:
            grad_weights += spread(grad @ values[:, None].mT, 0.0)
        grad_scores = grad_weights.sub_(delta).mul_(weights)
        grad_terms = collect(grad_scores, self.width)

        grad_q = grad_scores @ self.k
        if self.vectors is not None:
            grad_q += grad_terms @ self.vectors
        grads[0] += self.rows(grad_q)
        grads[1] += self.add_windows(grad_scores.mT @ self.q)
        grads[2] += self.add_windows(weights.mT @ grad)
        grad_keys, grad_values, grad_bias = by_distance
        if grad_keys is not None:
            _add_heads(grad_keys, grad_terms, self.q)
        if grad_values is not None:
            _add_heads(grad_values, collect(weights, self.width), grad)
        if grad_bias is not None:
            grad_bias += grad_terms.sum((1, 2))

    def rows(self, x: Tensor) -> Tensor:
        """(H, N, C, ...) -> (H, L, ...)."""
        return x.flatten(1, 2)[:, : self.length]

    def add_windows(self, x: Tensor) -> Tensor:
        """The transpose of `windows`: (H, N, C + K - 1, d) -> (H, L, d), overlaps added."""
        parts = -(-x.shape[2] // BLOCK)
        x = F.pad(x, (0, 0, 0, parts * BLOCK - x.shape[2])).unflatten(2, (parts, BLOCK))
        n = x.shape[1]
        total = x.new_zeros(x.shape[0], n + parts - 1, BLOCK, x.shape[-1])
        for part in range(parts):
            total[:, part : part + n] += x[:, :, part]
        return total.flatten(1, 2)[:, self.width - 1 :][:, : self.length]


def blocks(x: Tensor) -> Tensor:
    """(H, L, d) -> (H, N, C, d), zeros at the end, in float32 or float64."""
    x = F.pad(x.to(exact(x)), (0, 0, 0, -x.shape[1] % BLOCK))
    return x.unflatten(1, (-1, BLOCK))


def windows(x: Tensor, width: int) -> Tensor:
    """(H, L, d) -> (H, N, C + K - 1, d): what each block sees, zeros before the first key."""
    x = F.pad(x.to(exact(x)), (0, 0, width - 1, -x.shape[1] % BLOCK))
    return x.unfold(1, BLOCK + width - 1, BLOCK).mT


def spread(terms: Tensor, beside: float) -> Tensor:
    """By distance (H, N, C, K) -> by key (H, N, C, C + K - 1), `beside` where n is not in 0 .. K-1.

    Key j of a block's window is at distance n = i + K - 1 - j of its query i. A row of 2C + K - 2
    columns holds n = K - 1 .. 0 from column C - 1 on, which for key j is column j - i + C - 1. So
    with rows that are shorter by one, column j of row i is key j.
    """
    *lead, queries, width = terms.shape
    columns = 2 * queries + width - 2
    rows = F.pad(terms.flip(-1), (queries - 1, queries - 1), value=beside)
    strides = (*rows.stride()[:-2], columns - 1, 1)
    return rows.as_strided((*lead, queries, queries + width - 1), strides, queries - 1)


def collect(tile: Tensor, width: int) -> Tensor:
    """The transpose of `spread`: by key (H, N, C, C + K - 1) -> by distance (H, N, C, K)."""
    *lead, queries, _ = tile.shape
    columns = 2 * queries + width - 2
    rows = tile.new_empty(*lead, queries, columns)
    strides = (*rows.stride()[:-2], columns - 1, 1)
    rows.as_strided(tile.shape, strides, queries - 1).copy_(tile)
    return rows[..., queries - 1 : queries - 1 + width].flip(-1)


def _add_heads(total: Tensor, by_distance: Tensor, rows: Tensor) -> None:
    """total (H or 1, K, d) += sum over rows of by_distance (H, N, C, K) x rows (H, N, C, d)."""
    product = by_distance.flatten(1, 2).mT @ rows.flatten(1, 2)
    total += product.sum(0, keepdim=True) if len(total) == 1 else product
