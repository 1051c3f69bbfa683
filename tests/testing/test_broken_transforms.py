"""Mistakes with queries, keys and the input, each found by one check and no other."""

import re
from contextlib import nullcontext

import pytest
import torch
from torch import nn

from posexp import PositionScheme


class Turn(PositionScheme):
    """Another: the first two columns of each head are turned by p / theta."""

    def transform_query(self, q, positions):
        return self.turn(q, self.angles(q, positions))

    def transform_key(self, k, positions):
        return self.turn(k, self.angles(k, positions))

    def angles(self, x, positions):
        return positions[..., None, :].to(torch.promote_types(x.dtype, torch.float32)) / 30

    def turn(self, x, angles):
        cos, sin, (a, b) = angles.cos(), angles.sin(), x[..., :2].unbind(-1)
        return torch.cat(
            (torch.stack((a * cos - b * sin, a * sin + b * cos), -1), x[..., 2:]), -1
        ).type_as(x)


class KeepsFloat32(Turn):
    def turn(self, x, angles):
        return super().turn(x.float(), angles)


class LooseTable(Turn):
    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.rate = torch.ones(()) / 30

    def angles(self, x, positions):
        return positions[..., None, :].float() * self.rate


class InPlace(Turn):
    def transform_query(self, q, positions):
        q[..., 2:] *= 2
        return super().transform_query(q, positions)


class Misspelt(PositionScheme):
    def transform_keys(self, k, positions):
        return k * 2


class TurnsKeysBackwards(Turn):
    """Wrong sign: now the sum of both positions counts."""

    def transform_key(self, k, positions):
        return self.turn(k, -self.angles(k, positions))


class LooksAhead(Turn):
    def transform_key(self, k, positions):
        return super().transform_key(k.roll(-1, dims=-2), positions)


class MixesThePast(PositionScheme):
    """Each token is mixed with the one before it, which may be a pad."""

    def embed(self, x, positions):
        return x + torch.cat((x[:, :1], x[:, :-1]), dim=1)


class AnglesInTheModelsDtype(Turn):
    def angles(self, x, positions):
        return positions[..., None, :].to(x.dtype) / 30


class AnglesInBfloat16(Turn):
    def angles(self, x, positions):
        return (positions[..., None, :].bfloat16() / 30).float()


class TableInABuffer(Turn):
    """Good enough for bfloat16's own tolerance, and damaged for good."""

    max_length = 2048
    shift_invariant = False  # two columns of one token are moved, not turned

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.register_buffer("waves", torch.arange(2048).div(30).sin()[:, None])

    def turn(self, x, angles):
        positions = angles.mul(30).round().long()
        return (x + self.waves[positions]).type_as(x)

    def angles(self, x, positions):
        if positions.device.type == "cpu" and positions.max() >= 2048:
            raise ValueError("at most 2048 positions")
        return super().angles(x, positions)


class WithoutADevice(Turn):
    def angles(self, x, positions):
        return super().angles(x, positions) * torch.ones(1)


class HidesWhatItActsOn(Turn):
    """Does not say that it acts on scores, so a kernel that never has any takes it."""

    def adjust_scores(self, scores, q, k, q_positions, k_positions):
        return scores * 1.5

    @property
    def acts_on(self):
        return super().acts_on - {"adjust_scores"}


class RemembersItsAngles(Turn):
    """The first layer computes, the others reuse; in the backward pass no layer is the first."""

    remembered = (None, None)

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.rate = nn.Parameter(torch.ones(()))

    def init_parameter(self, name, parameter, generator):
        parameter.fill_(1.0)

    def angles(self, x, positions):
        if self.remembered[0] is not positions:
            self.remembered = positions, super().angles(x, positions) * self.rate.float()
        return self.remembered[1]


BROKEN = [
    (KeepsFloat32, "shapes_and_dtypes", "into torch.float32.*type_as"),
    (LooseTable, "tensors_are_registered", "rate holds a Tensor"),
    (InPlace, "inputs_are_not_changed", "in place"),
    (TurnsKeysBackwards, "shift_invariance_as_declared", "turn the other way"),
    (Misspelt, "declarations_are_well_formed", "did you mean .*transform_key"),
    (LooksAhead, "causality", r"changing token \d+ changed the logits at \d+ .*looks ahead"),
    (MixesThePast, "padding_is_invisible", "mix tokens"),
    (AnglesInTheModelsDtype, "positions_in_float32", "no integer beyond 256"),
    (AnglesInBfloat16, "positions_in_float32", "positions 256 and 257 apart"),
    (TableInABuffer, "half_and_back", "table in a buffer"),
    (WithoutADevice, "no_device_slips", "without a device"),
    (HidesWhatItActsOn, "kernels_agree", "do the two say the same"),
    (RemembersItsAngles, "checkpointing_agrees", "runs each block's methods again"),
]


@pytest.mark.parametrize(
    ("kind", "check", "words"), BROKEN, ids=lambda value: getattr(value, "__name__", None)
)
def test_found_by_one_check(failures, kind, check, words):
    found = failures(kind)
    assert list(found) == [check], found
    assert re.search(words, found[check], re.DOTALL), found[check]


def test_the_scheme_that_is_spoiled_is_sound(failures):
    assert failures(Turn) == {}


class MultipliesMatrices(PositionScheme):
    shift_invariant = False

    def embed(self, x, positions):
        slopes = torch.linspace(0, 1, x.shape[-1], device=x.device)
        dtype = torch.promote_types(x.dtype, torch.float32)
        return (x + (positions[..., None].to(dtype) @ slopes[None].to(dtype)).sin()).type_as(x)


def test_a_model_that_leaves_autocast_on(failures, monkeypatch):
    """What the model does for every scheme: without it, autocast rounds a matrix product."""
    assert failures(MultipliesMatrices) == {}
    original = torch.autocast

    def never_off(device, dtype=None, enabled=True):
        return original(device, dtype, enabled) if dtype else nullcontext()

    monkeypatch.setattr(torch, "autocast", never_off)
    found = failures(MultipliesMatrices)
    assert list(found) == ["autocast_leaves_positions_alone"], found
