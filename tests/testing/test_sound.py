"""Unusual schemes that break nothing: the checks must not fail them for being unusual."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from posexp import PositionScheme, SchemeSpec
from posexp.testing import check_scheme


class GroupedPositions(PositionScheme):
    """Four neighbours share a position. By position alone, three would see the future."""

    shift_invariant = False

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.table = nn.Parameter(torch.zeros(dims.n_heads, 64))

    def remap_positions(self, positions):
        return positions // 4

    def distance_bias(self, n):
        return self.table[:, n.clamp(0, 63)].float()


class WavesByMatmul(PositionScheme):
    """Autocast rounds a matrix product to bfloat16, so it must be off where schemes are called."""

    shift_invariant = False

    def embed(self, x, positions):
        frequencies = 0.5 ** torch.arange(
            x.shape[-1], device=x.device, dtype=torch.promote_types(x.dtype, torch.float32)
        )
        angles = positions[..., None].to(frequencies) @ frequencies[None]
        return (x + angles.sin()).type_as(x)


class BlockPositions(PositionScheme):
    """Neither a function of distance nor of one position: the dense form is the only one."""

    def bias(self, q_positions, k_positions):
        same = (q_positions // 3)[..., :, None] == (k_positions // 3)[..., None, :]
        heads = torch.arange(1.0, self.dims.n_heads + 1, device=same.device)
        return heads[:, None, None] * same[..., None, :, :].float()

    shift_invariant = False


class Gate(PositionScheme):
    """Acts on scores and outputs, the last resort of the contract."""

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.rate = nn.Parameter(torch.zeros(dims.n_heads))

    def adjust_scores(self, scores, q, k, q_positions, k_positions):
        alike = q.mean(-1, keepdim=True) * k.mean(-1)[:, :, None]
        return scores + self.rate[:, None, None] * alike

    def adjust_output(self, out, weights, q_positions, k_positions):
        return out * (1 + weights.amax(-1, keepdim=True))


class LayerTable(PositionScheme):
    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.table = nn.Parameter(torch.zeros(dims.n_heads, 9))

    def distance_bias(self, n):
        return self.table.float()[:, n.clamp(0, 8)]


class PerLayer(PositionScheme):
    """Several tables, one for each layer, each registered once."""

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.layers = nn.ModuleList(LayerTable(None, dims) for _ in range(dims.n_layers))

    def for_layer(self, layer):
        return self.layers[layer]

    @property
    def acts_on(self):
        return self.layers[0].acts_on


class SayAsYouGo(PositionScheme):
    """Depends on the length of the call, and declares it."""

    shift_invariant = False
    length_dependent = True

    def transform_key(self, k, positions):
        part = positions / positions.amax(-1, keepdim=True).clamp(min=1)
        return (k * (1 + part[..., None, :, None])).type_as(k)


class FewPositions(PositionScheme):
    """Ends at 40 positions, and says so wherever they are asked for."""

    shift_invariant = False
    max_length = 40

    def transform_query(self, q, positions):
        if positions.device.type == "cpu" and positions.max() >= self.max_length:
            raise ValueError(f"position {positions.max()} of {self.max_length}")
        return (q * (1 + positions.float()[..., None, :, None] / 40)).type_as(q)


@dataclass
class NoConfig:
    pass


@pytest.mark.parametrize(
    "kind",
    [GroupedPositions, WavesByMatmul, BlockPositions, Gate, PerLayer, SayAsYouGo, FewPositions],
)
def test_passes(kind):
    check_scheme(SchemeSpec(kind.__name__, NoConfig, kind), slow=False)
