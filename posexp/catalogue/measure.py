"""What a scheme does, measured by calling the contract's methods at given positions.

Shapes: T positions, H query heads, D model width, d head width. Nothing here knows what a scheme
is called; a transform, a bias or a mask that nobody has thought of yet is measured as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from posexp.dims import AttentionDims
from posexp.scheme import SPANS, PositionScheme

#: Heads that are shown, spread over all of them.
HEADS = 4
#: The title of what a query sees, drawn without a scale.
VISIBLE = "visible"
#: The title of the angles that a transform turns columns by: modulo a turn, so no map of places.
ANGLES = "rotation angle (rad)"
BIASES = frozenset({"distance_slopes", "distance_bias", "bias"})


@dataclass(frozen=True)
class Panel:
    """One matrix with what its rows and columns are; nan where there is nothing to see."""

    title: str
    values: Tensor  # (rows, columns)
    rows: str
    columns: str
    row_ticks: Tensor = field(repr=False)
    column_ticks: Tensor = field(repr=False)
    remark: str = ""

    def __post_init__(self) -> None:
        expected = (len(self.row_ticks), len(self.column_ticks))
        if tuple(self.values.shape) != expected:
            shape = tuple(self.values.shape)
            raise ValueError(f"{self.title} has the shape {shape}, and {expected} was expected")

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest value; equal where only rounding tells them apart."""
        seen = self.values[~self.values.isnan()]
        low, high = (seen.min().item(), seen.max().item()) if len(seen) else (0.0, 0.0)
        return (low, high) if high - low > 1e-5 * max(abs(low), abs(high)) else (low, low)

    @property
    def is_flat(self) -> bool:
        """Whether it is the same everywhere, other than what is visible."""
        low, high = self.range
        return self.title != VISIBLE and low == high

    def equals(self, other: Panel) -> bool:
        """Whether both show the same."""
        same = (self.title, self.rows, self.columns) == (other.title, other.rows, other.columns)
        return same and torch.equal(self.values.nan_to_num(), other.values.nan_to_num())


def positions_up_to(length: int, limit: int | None, most: int) -> Tensor:
    """At most `most` positions, evenly spread over those that exist: (T,)."""
    length = length if limit is None else min(length, limit)
    return torch.linspace(0, length - 1, min(length, most)).round().long()


@torch.no_grad()
def before_layers(scheme: PositionScheme, dims: AttentionDims, positions: Tensor) -> list[Panel]:
    """What is done once: to the positions, and to the input of the first layer."""
    panels = []
    remapped = positions
    if "remap_positions" in scheme.acts_on:
        remapped = scheme.remap_positions(positions)
        there = (remapped[:, None] - remapped[None, :]).float()
        panels.append(_by_pair("remapped query - key position", there, positions, dims.causal))
    if "embed" in scheme.acts_on:
        x = torch.ones(1, len(positions), dims.d_model)
        added = (scheme.embed(x, remapped) - x)[0]
        columns = torch.arange(dims.d_model)
        panels.append(
            Panel("added to an input of ones", added, "position", "dimension", positions, columns)
        )
    return panels


@torch.no_grad()
def in_layer(layer: PositionScheme, dims: AttentionDims, positions: Tensor) -> list[Panel]:
    """What one layer's scheme does, at positions as the whole scheme has remapped them."""
    acts_on, panels = layer.acts_on, []
    if acts_on & {"transform_query", "transform_key"}:
        panels += _transform(layer, dims, positions)
    if acts_on & BIASES:
        panels += _heads("bias", layer.bias(positions, positions), positions, dims)
    for method, what in (("distance_keys", "keys"), ("distance_values", "values")):
        if method in acts_on:
            n = positions - positions[0]
            vectors = getattr(layer, method)(n)[0].float()
            columns = torch.arange(vectors.shape[-1])
            panels.append(
                Panel(f"added to {what}, head 0", vectors, "distance", "column", n, columns)
            )
    if acts_on & {*SPANS, "mask"}:
        visible = layer.mask(positions, positions).expand(len(positions), -1).float()
        panels.append(_by_pair(VISIBLE, visible, positions, dims.causal, hidden=0.0))
    if acts_on & {"adjust_scores", "adjust_output"}:
        panels += _adjustments(layer, dims, positions)
    return panels


def nothing(dims: AttentionDims, positions: Tensor) -> Panel:
    """What is left where a scheme acts on nothing: which keys the model itself lets a query see."""
    everything = torch.ones(len(positions), len(positions))
    return _by_pair(VISIBLE, everything, positions, dims.causal, hidden=0.0)


def _transform(layer: PositionScheme, dims: AttentionDims, positions: Tensor) -> list[Panel]:
    """Its effect on q . k by distance and column: a share that stays, and an angle."""
    n = positions - positions[0]
    own, turned, _ = _effect(layer, dims, positions)
    columns = torch.arange(dims.d_head)

    def panel(title: str, values: Tensor, remark: str = "") -> Panel:
        return Panel(title, values, "distance", "column", n, columns, remark)

    panels = [panel("q . k of a column with itself", own)]
    if turned.abs().max() > 1e-6:
        angles = torch.atan2(turned, own)
        panels.append(panel(ANGLES, angles, _one_step(layer, dims, positions)))
    size = torch.hypot(own, turned)
    if (size - 1).abs().max() > 1e-4:
        panels.append(panel("length of a column's q . k", size))
    return panels


def unit_products(
    layer: PositionScheme,
    dims: AttentionDims,
    positions: Tensor,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Unit queries a at `positions` times unit keys b at the first of them, (T, a, b); head 0."""
    # A batch row for each unit vector.
    units = torch.eye(dims.d_head, dtype=dtype)[:, None, None, :]
    q = units.expand(-1, dims.n_heads, len(positions), -1).clone()
    k = units.expand(-1, dims.n_kv_heads, 1, -1).clone()
    q = layer.transform_query(q, positions)[:, 0]  # (d, T, d)
    k = layer.transform_key(k, positions[:1])[:, 0, 0]  # (d, d)
    return torch.einsum("atc,bc->tab", q.to(dtype), k.to(dtype))


def _effect(
    layer: PositionScheme, dims: AttentionDims, positions: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """What becomes of unit vectors by distance.

    With effect[n, a, b] the inner product of query a at distance n and key b: a's partner (d,) is
    the other column that it reaches most; `own` is effect[n, a, a] and `turned` effect[n, a,
    partner], both (T, d).
    """
    effect = unit_products(layer, dims, positions)
    own = effect.diagonal(dim1=1, dim2=2)
    other = effect - torch.diag_embed(own)
    partner = other.abs().amax(0).argmax(-1)
    turned = other.gather(-1, partner[None, :, None].expand(len(positions), -1, 1))[..., 0]
    return own, turned, partner


def _one_step(layer: PositionScheme, dims: AttentionDims, positions: Tensor) -> str:
    own, turned, partner = _effect(layer, dims, torch.stack((positions[0], positions[0] + 1)))
    angles = torch.atan2(turned, own)[1].abs()
    moving = angles[angles > 0]
    if not len(moving):
        return ""
    first = int(angles.argmax())
    return (
        f"{len(moving)} of {dims.d_head} columns turn; a step turns columns {first} and "
        f"{int(partner[first])} by {angles[first]:.3g} rad, the slowest by {moving.min():.3g}"
    )


def _adjustments(layer: PositionScheme, dims: AttentionDims, positions: Tensor) -> list[Panel]:
    """The change of logits and outputs, for one random draw of q, k and v."""
    generator = torch.Generator().manual_seed(0)
    shape = (1, dims.n_heads, len(positions), dims.d_head)
    q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
    scores = q @ k.mT * dims.d_head**-0.5
    if dims.causal:
        scores = scores.masked_fill(_future(positions), -torch.inf)
    adjusted = layer.adjust_scores(scores, q * dims.d_head**-0.5, k, positions, positions)
    panels = []
    if "adjust_scores" in layer.acts_on:
        change = (adjusted - scores)[0]
        panels += _heads("change of random logits", change, positions, dims)
    if "adjust_output" in layer.acts_on:
        weights = adjusted.softmax(-1)
        out = weights @ v
        change = (layer.adjust_output(out, weights, positions, positions) - out)[0, 0]
        columns = torch.arange(dims.d_head)
        panels.append(
            Panel("change of a random output, head 0", change, "position", "column", positions,
                  columns)
        )  # fmt: skip
    return panels


def _heads(title: str, values: Tensor, positions: Tensor, dims: AttentionDims) -> list[Panel]:
    """Some of the heads of (H, T, S)."""
    shown = torch.linspace(0, len(values) - 1, min(len(values), HEADS)).round().int().tolist()
    return [
        _by_pair(f"{title}, head {head}", values[head].float(), positions, dims.causal)
        for head in shown
    ]


def _by_pair(
    title: str, values: Tensor, positions: Tensor, causal: bool, hidden: float = torch.nan
) -> Panel:
    """A matrix (T, S) of queries and keys; `hidden` is what the causal future shows."""
    if causal:
        values = values.masked_fill(_future(positions), hidden)
    values = values.masked_fill(~values.isfinite(), torch.nan)
    return Panel(title, values, "query position", "key position", positions, positions)


def _future(positions: Tensor) -> Tensor:
    return torch.ones(len(positions), len(positions), dtype=torch.bool).triu(1)
