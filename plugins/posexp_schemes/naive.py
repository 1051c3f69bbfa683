"""The first ideas that everyone has for writing a position into x: here to be seen failing.

    raw_index          x_0 += p          grows without bound: training never saw a large p
    normalized_index   x_0 += p / L      the step between neighbours depends on the length L
    one_hot            x_p += 1          no notion of near: all pairs of positions look alike

x is the input of the first layer (B, T, D), p the position. Only coordinate 0 is changed: an index
added to every coordinate would be removed by the first LayerNorm. No parameters, no paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class RawIndexConfig:
    """The raw index has no parameters."""


class RawIndex(PositionScheme):
    """x_0 += p."""

    shift_invariant = False

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add `positions`, (T,) or (B, T), to coordinate 0 of the input (B, T, D)."""
        return _add_to_first(x, positions)


@dataclass
class NormalizedIndexConfig:
    """The normalised index has no parameters."""


class NormalizedIndex(PositionScheme):
    """x_0 += p / L, with L the length of the row: its largest position + 1, so pads do not count.

    A token's vector changes whenever the sequence grows: it cannot be processed in pieces.
    """

    shift_invariant = False
    length_dependent = True

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add `positions` / L, (T,) or (B, T), to coordinate 0 of the input (B, T, D)."""
        return _add_to_first(x, positions.float() / (positions.amax(dim=-1, keepdim=True) + 1))


@dataclass
class OneHotConfig:
    """The one-hot index has no parameters: the model's width is its length."""


class OneHot(PositionScheme):
    """x_p += 1. Raises `ValueError` for p >= D: there is no such coordinate."""

    shift_invariant = False

    def __init__(self, config: OneHotConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.max_length = dims.d_model

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add 1 to the coordinate of each of `positions`, (T,) or (B, T), of x (B, T, D)."""
        unit_vectors = torch.eye(self.max_length, dtype=x.dtype, device=x.device)
        try:
            return x + F.embedding(positions, unit_vectors)
        except IndexError as error:
            raise ValueError(
                f"one_hot: position {int(positions.max())} has no coordinate, the model is "
                f"{self.max_length} wide: at most {self.max_length} tokens, or a larger d_model"
            ) from error


def _add_to_first(x: Tensor, values: Tensor) -> Tensor:
    dtype = torch.promote_types(x.dtype, torch.float32)
    return (x + F.pad(values[..., None].to(dtype), (0, x.shape[-1] - 1))).type_as(x)


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [
        SchemeSpec("raw_index", RawIndexConfig, RawIndex),
        SchemeSpec("normalized_index", NormalizedIndexConfig, NormalizedIndex),
        SchemeSpec("one_hot", OneHotConfig, OneHot),
    ]
