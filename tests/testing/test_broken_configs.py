"""Mistakes with parameters, copies and checkpoints, each found by one check and no other."""

import math
import re
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import nn

from posexp import PositionScheme


class Decay(PositionScheme):
    """A sound scheme, to be spoiled below: a learned rate for each head times log(1 + |n|)."""

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.rates = nn.Parameter(torch.zeros(dims.n_heads))

    def rate(self):
        return self.rates.float()[:, None]

    def distance_bias(self, n):
        return -self.rate() * torch.log1p(n.abs().float())


@dataclass
class Doubled:
    theta: float = 100.0

    def __post_init__(self):
        self.theta = abs(2 * self.theta)


class ChangesItsConfig(Decay):
    settings = Doubled


@dataclass
class WithASet:
    heads: set = field(default_factory=lambda: {1, 2})


class HoldsASet(Decay):
    settings = WithASet


@dataclass
class Anything:
    theta: Any = 100.0


class UntypedNumber(Decay):
    settings = Anything

    def rate(self):
        return super().rate() / abs(self.config.theta or 1)


@dataclass
class Choice:
    shape: str = "log"


class TakesAnyWord(Decay):
    settings = Choice

    def rate(self):
        return super().rate() * (2 if self.config.shape == "log" else 1)


class RefusesLate(Decay):
    settings = Choice

    def rate(self):
        if self.config.shape != "log":
            raise ValueError(f"shape is log, got {self.config.shape!r}")
        return super().rate()


@dataclass
class Base:
    base: float = 10.0


class PowerOfANegative(Decay):
    settings = Base

    def rate(self):
        heads = torch.arange(1, self.dims.n_heads + 1, device=self.rates.device) / 8
        return super().rate() * (self.config.base**-heads)[:, None]


class LogarithmOfZero(Decay):
    settings = Base

    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.scale = math.log(config.base)


@dataclass
class Buckets:
    buckets: int = 8


class DividesByZero(Decay):
    settings = Buckets

    def rate(self):
        return super().rate() * (abs(self.config.buckets) // self.config.buckets)


class ClosesOverItself(Decay):
    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.rate = lambda: self.rates.float()[:, None]


class HoldsALock(Decay):
    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.lock = threading.Lock()


class MadeInTheFirstCall(Decay):
    def distance_bias(self, n):
        if "slopes" not in self._buffers:
            self.register_buffer("slopes", torch.ones(self.dims.n_heads, 1, device=n.device))
        return super().distance_bias(n) - self.slopes * n.abs()


class ExtraState(Decay):
    def get_extra_state(self):
        return self.config

    def set_extra_state(self, state):
        self.config = state


class FourHeads(PositionScheme):
    def __init__(self, config, dims):
        super().__init__(config, dims)
        self.rates = nn.Parameter(torch.zeros(4))

    def distance_bias(self, n):
        return -self.rates.float()[:, None] * n.abs()


class PowersOfTwoOnly(Decay):
    def __init__(self, config, dims):
        assert math.log2(dims.n_heads).is_integer()
        super().__init__(config, dims)


class HalvesOfAnOddHead(PositionScheme):
    """Halves are swapped; of 9 columns, the one in the middle stays without a partner."""

    shift_invariant = False

    def transform_key(self, k, positions):
        half = k.shape[-1] // 2
        turned = torch.cat((k[..., half : 2 * half], k[..., :half]), dim=-1)
        return (k + turned * positions.float()[..., None, :, None].sin()).type_as(k)


BROKEN = [
    (ChangesItsConfig, "config_round_trips", "theta was 200.0 and is 400.0 .*__post_init__"),
    (HoldsASet, "config_round_trips", "annotation: set.*numbers, words, lists"),
    (
        UntypedNumber,
        "config_rejects_bad_values",
        "theta='no such value' builds: .*of 100.0. Give",
    ),
    (TakesAnyWord, "config_rejects_bad_values", "shape='no such value' builds: a misspelt"),
    (RefusesLate, "config_rejects_bad_values", "shape='no such value' builds.*__post_init__"),
    (PowerOfANegative, "config_rejects_bad_values", r"base=-1 builds, and gives \d+ of \d+ logits"),
    (LogarithmOfZero, "config_rejects_bad_values", "math domain error, which does not name base"),
    (DividesByZero, "config_rejects_bad_values", "buckets=0 builds, and .*ZeroDivisionError"),
    (ClosesOverItself, "deep_copy_is_independent", "closes over self"),
    (HoldsALock, "deep_copy_is_independent", "copy.deepcopy raised TypeError: .*lock"),
    (
        MadeInTheFirstCall,
        "state_dict_round_trips",
        "Unexpected key.*slopes.*in the first call",
    ),
    (ExtraState, "state_dict_round_trips", "does get_extra_state give something else"),
    (FourHeads, "other_head_counts", "with 3 heads, 8 wide, on 3 key/value heads: .*bias"),
    (PowersOfTwoOnly, "other_head_counts", "building for 3 heads, .* AssertionError"),
    (HalvesOfAnOddHead, "other_head_counts", "2 heads, 9 wide, .*raise ValueError"),
]


@pytest.mark.parametrize(
    ("kind", "check", "words"), BROKEN, ids=lambda value: getattr(value, "__name__", None)
)
def test_found_by_one_check(failures, kind, check, words):
    found = failures(kind)
    assert list(found) == [check], found
    assert re.search(words, found[check], re.DOTALL), found[check]


def test_the_scheme_that_is_spoiled_is_sound(failures):
    assert failures(Decay) == {}
