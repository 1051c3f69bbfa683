"""Any scheme in memory linear in the length: tiles of queries, computed again for the gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from posexp.model.kernels.biased import biased
from posexp.model.kernels.eager import EagerKernel, Prepared
from posexp.model.kernels.kernel import BEFORE_ATTENTION, exact, for_query_heads, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import ACTIONS, SPANS, PositionScheme

#: Pairs of positions in a tile: 512 x 512. Up to so many, one mask and one bias serve all layers.
#: Tiles of one area need blocks of memory of one size: ever new sizes would leave ever new holes,
#: and the process would grow with the square of the length.
AREA = 512 * 512
#: Dense scores in a tile, of all heads and sequences: beyond the caches of a CPU, computing smaller
#: tiles twice is faster, as causal ones leave out what is not visible.
SCORES = 4 * AREA
#: What fused attention can do given a dense bias or a mask.
FUSED = BEFORE_ATTENTION | {*SPANS, "mask", "distance_slopes", "distance_bias", "bias"}


@dataclass(frozen=True)
class Tile:
    """A scheme on some queries and keys: its mask and bias, and whether fused attention will do."""

    dense: Prepared
    fused: Tensor | None  # the bias, -inf where not visible, or the mask
    learns: bool  # whether the bias wants a gradient


@dataclass(frozen=True)
class Tiles:
    """A scheme and a layout, and the one tile of both if that is small."""

    scheme: PositionScheme
    layout: Layout
    whole: Tile | None


class TiledKernel:
    """What the eager kernel defines, with no tensor of T x S at once beyond a small one.

    A tile of queries meets the keys that it can see. Where the scheme only adds a bias or masks,
    the tile goes through fused attention; on a GPU a bias that learns does not.
    """

    name = "tiled"
    honours = frozenset(ACTIONS)

    def __init__(self) -> None:
        self._dense = EagerKernel()

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        return True

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Tiles:
        small = layout.q_positions.shape[-1] * layout.k_positions.shape[-1] <= AREA
        return Tiles(scheme, layout, self._tile(scheme, layout) if small else None)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: Tiles, dropout: float) -> Tensor:
        scheme, layout, whole = prepared.scheme, prepared.layout, prepared.whole
        dense = bool(scheme.acts_on - FUSED)
        area = min(AREA, SCORES // (q.shape[0] * q.shape[1])) if dense else AREA
        if whole is not None and (not dense or q.shape[2] * k.shape[2] <= area):
            return self._attend(q, k, v, whole)

        def one(q: Tensor, k: Tensor, v: Tensor, part: Layout) -> Tensor:
            return self._attend(q, k, v, self._tile(scheme, part))

        out, stop = [], 0
        while stop < q.shape[2]:
            start, stop = stop, min(stop + rows(scheme, layout, stop, area), q.shape[2])
            keys = seen(scheme, layout, start, stop)
            part = layout.tile(start, stop, keys.start, keys.stop)
            given = (q[:, :, start:stop], k[:, :, keys], v[:, :, keys], part)
            if torch.is_grad_enabled():
                out.append(checkpoint(one, *given, use_reentrant=False, preserve_rng_state=False))
            else:
                out.append(one(*given))
        return torch.cat(out, 2)

    def _tile(self, scheme: PositionScheme, layout: Layout) -> Tile:
        dense = self._dense.prepare(scheme, layout)
        bias, visible = dense.bias, dense.visible
        learns = bias is not None and bias.requires_grad and torch.is_grad_enabled()
        on_cpu = layout.k_positions.device.type in ("cpu", "meta")
        if scheme.acts_on - FUSED or (learns and not on_cpu):
            return Tile(dense, None, learns)
        if bias is None:
            return Tile(dense, visible, learns)
        bias = bias.float()
        if visible is not None:
            bias = bias.masked_fill(~visible, -torch.inf)
        return Tile(dense, bias if bias.ndim == 4 else bias[None], learns)

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, tile: Tile) -> Tensor:
        if tile.fused is None:
            return self._dense.attend(q, k, v, tile.dense, 0.0)
        if tile.learns:
            return self._learning(q, k, v, tile.fused.to(exact(q)), tile.dense.layout.causal)
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=tile.fused, scale=1.0, enable_gqa=k.shape[1] < q.shape[1]
        )

    def _learning(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor, causal: bool) -> Tensor:
        k, v = (for_query_heads(x, q.shape[1]) for x in (k, v))
        if len(bias) == 1:
            return biased(q, k, v, bias[0], causal)[0]
        # Rows that differ in their bias are heads of one sequence.
        q, k, v = (x.flatten(0, 1)[None] for x in (q, k, v))
        return biased(q, k, v, bias.flatten(0, 1), causal)[0][0].unflatten(0, bias.shape[:2])


def seen(scheme: PositionScheme, layout: Layout, start: int, stop: int) -> slice:
    """The keys that the queries numbered `start` to `stop` may see, by causality and reach."""
    n_queries, n_keys = layout.q_positions.shape[-1], layout.k_positions.shape[-1]
    offset = n_keys - layout.keys_after - n_queries  # the key that stands at query 0
    last = min(n_keys, stop + offset) if layout.causal else n_keys
    first = 0
    if scheme.reach is not None and layout.consecutive:
        first = max(0, start + offset - scheme.reach + 1)
        if not layout.causal:
            last = min(n_keys, stop + offset + scheme.reach - 1)
    return slice(first, last)


def rows(scheme: PositionScheme, layout: Layout, start: int, area: int) -> int:
    """How many queries from `start` on make a tile of `area` pairs."""
    before = seen(scheme, layout, start, start)
    n_keys = before.stop - before.start
    if not layout.causal:
        return max(1, area // max(1, n_keys))
    # With the keys n_keys + rows of a causal tile: rows (n_keys + rows) = area.
    return max(1, (math.isqrt(n_keys**2 + 4 * area) - n_keys) // 2)
