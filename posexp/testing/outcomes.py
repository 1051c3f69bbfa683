"""What a scheme's functions of position give on fixed inputs, without a model around them.

Shapes: B batch, T positions, D model width, H query heads, G key/value heads, d head width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posexp.dims import AttentionDims
from posexp.scheme import SPANS, PositionScheme

#: Along which axes of an outcome the positions lie, counted from the end.
POSITION_AXES = {
    "embed": (-2,),
    "transform_query": (-2,),
    "transform_key": (-2,),
    "bias": (-2, -1),
    "mask": (-2, -1),
    "distance_keys": (-2,),
    "distance_values": (-2,),
}
#: The methods whose result is the model's activations, in the model's dtype.
ACTIVATIONS = ("embed", "transform_query", "transform_key")


@dataclass(frozen=True)
class Inputs:
    """Activations that are the same for every token, so that only positions can tell them apart."""

    x: Tensor  # (B, T, D)
    q: Tensor  # (B, H, T, d)
    k: Tensor  # (B, G, T, d)

    @classmethod
    def of(cls, dims: AttentionDims, batch: int, length: int, dtype: torch.dtype) -> Inputs:
        """For T = `length`."""

        def alike(*shape: int) -> Tensor:  # not small anywhere, and exact in every dtype
            values = torch.linspace(0.5, 1.0, shape[-1], dtype=torch.float32).bfloat16()
            return values.to(dtype).expand(shape).clone()

        return cls(
            alike(batch, length, dims.d_model),
            alike(batch, dims.n_heads, length, dims.d_head),
            alike(batch, dims.n_kv_heads, length, dims.d_head),
        )


@torch.no_grad()
def layer_outcomes(
    scheme: PositionScheme, dims: AttentionDims, positions: Tensor, dtype: torch.dtype
) -> dict[str, Tensor]:
    """What one layer's scheme gives at `positions`, (T,) or (B, T); only what it acts on."""
    batch = positions.shape[0] if positions.ndim == 2 else 2
    inputs = Inputs.of(dims, batch, positions.shape[-1], dtype)
    acts_on, found = scheme.acts_on, {}
    if "transform_query" in acts_on:
        found["transform_query"] = scheme.transform_query(inputs.q, positions)
    if "transform_key" in acts_on:
        found["transform_key"] = scheme.transform_key(inputs.k, positions)
    if acts_on & {"distance_slopes", "distance_bias", "bias"}:
        found["bias"] = scheme.bias(positions, positions)
    if acts_on & {*SPANS, "mask"}:
        found["mask"] = scheme.mask(positions, positions)
    if positions.ndim == 1:
        if "distance_keys" in acts_on:
            found["distance_keys"] = scheme.distance_keys(positions)
        if "distance_values" in acts_on:
            found["distance_values"] = scheme.distance_values(positions)
    return {method: value for method, value in found.items() if value is not None}


@torch.no_grad()
def outcomes(
    scheme: PositionScheme,
    dims: AttentionDims,
    positions: Tensor,
    dtype: torch.dtype = torch.float32,
) -> dict[tuple[str, int], Tensor]:
    """Every function of position in every layer, keyed by (method, layer); `embed` is layer 0's."""
    found: dict[tuple[str, int], Tensor] = {}
    if "embed" in scheme.acts_on:
        batch = positions.shape[0] if positions.ndim == 2 else 2
        x = Inputs.of(dims, batch, positions.shape[-1], dtype).x
        found["embed", 0] = scheme.embed(x, positions)
    seen: list[PositionScheme] = []
    for layer in range(dims.n_layers):
        layer_scheme = scheme.for_layer(layer)
        if any(layer_scheme is other for other in seen):
            continue
        seen.append(layer_scheme)
        for method, value in layer_outcomes(layer_scheme, dims, positions, dtype).items():
            found[method, layer] = value
    return found


def part(method: str, outcome: Tensor, start: int, stop: int) -> Tensor:
    """The outcome at the positions numbered `start` to `stop` of a call."""
    for axis in POSITION_AXES[method]:
        outcome = outcome.narrow(axis, start, stop - start)
    return outcome
