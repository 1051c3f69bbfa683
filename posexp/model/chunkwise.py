"""Sums over pairs of tokens in time and memory linear in the length, for linear attention.

    out_i = sum_j (q'_i . k'_j) v_j / sum_j q_i . k_j       over the keys j that query i sees

The sums over j split off the query: sum_j k'_j v_j^T (d, d) and sum_j k_j (d,). Within a chunk of
`CHUNK` tokens pairs meet one by one; of the tokens before it there are only these two sums.
Bidirectional attention adds those of the tokens behind it.

Shapes: B batch, T tokens, G key/value heads, R query heads of each, C tokens of a chunk, d head
width.

Katharopoulos et al. 2020, "Transformers are RNNs"; in chunks: Hua et al. 2022, "Transformer Quality
in Linear Time".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from posexp.model.layout import Layout

#: Tokens that meet pair by pair.
CHUNK = 128

Part = tuple[Tensor, Tensor]
"""Numerator (B, G, R, C, d) and denominator (B, G, R, C) of a chunk's queries."""


@dataclass(frozen=True)
class Chunk:
    """The tokens `start` to `stop`: which of them see which, and their documents."""

    start: int
    stop: int
    visible: Tensor | None  # (C, C) or (B, 1, C, C)
    documents: Tensor | None  # (B, C)

    def of(self, x: Tensor) -> Tensor:
        """(..., T, d) -> (..., C, d)."""
        return x[..., self.start : self.stop, :]


def chunks(layout: Layout) -> list[Chunk]:
    """A sequence that attends to itself, cut up. A document is one run of tokens."""
    length, found = layout.q_positions.shape[-1], []
    for start in range(0, length, CHUNK):
        stop = min(start + CHUNK, length)
        part = layout.tile(start, stop, start, stop)
        found.append(Chunk(start, stop, part.visible(), part.q_documents))
    return found


@dataclass(frozen=True)
class Sums:
    """Over keys j: k'_j v_j^T (B, G, d, d), and k_j (B, G, d)."""

    products: Tensor
    keys: Tensor

    def plus(self, other: Sums, kept: Tensor | None) -> Sums:
        """`other`, and this in the rows where `kept` (B,), or in all for None."""
        products, keys = self.products, self.keys
        if kept is not None:
            share = kept[:, None, None].to(keys.dtype)
            products, keys = products * share[..., None], keys * share
        return Sums(products + other.products, keys + other.keys)


@dataclass(frozen=True)
class Heads:
    """q and q' (B, G, R, T, d), k and k' and v (B, G, T, d)."""

    q: Tensor
    k: Tensor
    v: Tensor
    turned_q: Tensor
    turned_k: Tensor

    def within(self, chunk: Chunk) -> Part:
        """The pairs of a chunk's own tokens."""
        weights = chunk.of(self.q) @ chunk.of(self.k)[:, :, None].mT
        turned = chunk.of(self.turned_q) @ chunk.of(self.turned_k)[:, :, None].mT
        if chunk.visible is not None:
            # Of the two axes of heads, (B, 1, C, C) has one.
            hidden = ~(chunk.visible if chunk.visible.ndim == 2 else chunk.visible[:, None])
            weights, turned = weights.masked_fill(hidden, 0), turned.masked_fill(hidden, 0)
        return turned @ chunk.of(self.v)[:, :, None], weights.sum(-1)

    def with_sums(self, chunk: Chunk, part: Part, sums: Sums, document: Tensor | None) -> Part:
        """`part`, and what the queries of that `document` (B,), or all, make of `sums`."""
        numerator = chunk.of(self.turned_q) @ sums.products[:, :, None]
        denominator = (chunk.of(self.q) @ sums.keys[:, :, None, :, None])[..., 0]
        if document is not None:
            other = (chunk.documents != document[:, None])[:, None, None]
            numerator = numerator.masked_fill(other[..., None], 0)
            denominator = denominator.masked_fill(other, 0)
        return part[0] + numerator, part[1] + denominator

    def sums(self, chunk: Chunk, document: Tensor | None) -> Sums:
        """Over the chunk's keys of that `document` (B,), or all."""
        k, turned_k = chunk.of(self.k), chunk.of(self.turned_k)
        if document is not None:
            other = (chunk.documents != document[:, None])[:, None, :, None]
            k, turned_k = k.masked_fill(other, 0), turned_k.masked_fill(other, 0)
        return Sums(turned_k.mT @ chunk.of(self.v), k.sum(-2))


def attend(
    heads: Heads, cut: Sequence[Chunk], causal: bool, before: Sums | None = None
) -> tuple[Tensor, Sums]:
    """out (B, G, R, T, d), zeros where a query sees no key; and the sums over all keys so far.

    `before` are the sums over tokens that stand before these, of one document.
    """
    parts, sums = _swept(heads, cut, [heads.within(chunk) for chunk in cut], before, last=-1)
    if not causal:
        parts, _ = _swept(heads, cut[::-1], parts[::-1], None, last=0)
        parts.reverse()
    numerator = torch.cat([part[0] for part in parts], dim=-2)
    denominator = torch.cat([part[1] for part in parts], dim=-1)[..., None]
    return numerator / denominator.masked_fill(denominator == 0, 1), sums


def _swept(
    heads: Heads, cut: Sequence[Chunk], parts: Sequence[Part], sums: Sums | None, last: int
) -> tuple[list[Part], Sums]:
    """`parts` with what each sees of the chunks before it in `cut`, and the sums behind them all.

    `last` is the column of a chunk that is met last; sums are of the document that stands there.
    """
    found, document = [], None
    for chunk, part in zip(cut, parts, strict=True):
        found.append(part if sums is None else heads.with_sums(chunk, part, sums, document))
        ending = None if chunk.documents is None else chunk.documents[:, last]
        own = heads.sums(chunk, ending)
        if sums is not None:
            own = sums.plus(own, None if ending is None else document == ending)
        sums, document = own, ending
    return found, sums
