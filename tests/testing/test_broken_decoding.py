"""Mistakes that show only where a sequence is decoded from a cache, each found by that check."""

import re

import pytest
import torch

from posexp import PositionScheme


class Bias(PositionScheme):
    """A sound scheme, to be spoiled below."""

    def distance_bias(self, n):
        slopes = torch.linspace(0.1, 0.4, self.dims.n_heads, device=n.device)
        return -slopes[:, None] * n.abs().float().sqrt()


class CountsFromTheLast(Bias):
    """Distances are as they should be, within one call."""

    def remap_positions(self, positions):
        return positions - positions.amax(dim=-1, keepdim=True)


class Growing(PositionScheme):
    """Keys grow with the length of the call."""

    shift_invariant = False
    length_dependent = True

    def transform_key(self, k, positions):
        length = positions.amax(dim=-1)[..., None, None, None] + 1
        return (k * (1 + length / 10)).type_as(k)


class FalselySteady(Growing):
    steady_until = 12


BROKEN = [
    (CountsFromTheLast, "cached_equals_full", "remap_positions look at more than each position"),
    (FalselySteady, "cached_equals_full", "12 tokens in chunks of 1.*before steady_until"),
]


@pytest.mark.parametrize(("kind", "check", "words"), BROKEN)
def test_found_by_one_check(failures, kind, check, words):
    found = failures(kind)
    assert list(found) == [check], found
    assert re.search(words, found[check]), found


@pytest.mark.parametrize("kind", [Bias, Growing])
def test_what_is_spoiled_is_sound(failures, kind):
    assert failures(kind) == {}
