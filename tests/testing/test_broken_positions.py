"""Mistakes with positions, each found by one check and no other."""

import math
import re

import pytest
import torch

from posexp import PositionScheme


class Waves(PositionScheme):
    """A sound scheme, to be spoiled below: x + sin(p w + column), with slow waves only."""

    shift_invariant = False

    def embed(self, x, positions):
        return (x + self.waves(positions, x.shape[-1])).type_as(x)

    def waves(self, positions, width):
        columns = torch.arange(width, device=positions.device).float()
        frequencies = self.config.theta ** (-columns / width)
        return torch.sin(positions[..., None].float() * frequencies + columns)


class ArangeInside(Waves):
    def embed(self, x, positions):
        return super().embed(x, torch.arange(x.shape[1], device=x.device))


class PlaceInPaddedRows(Waves):
    def embed(self, x, positions):
        if positions.ndim == 2:
            positions = torch.arange(x.shape[1], device=x.device)
        return super().embed(x, positions)


class FirstRowOnly(Waves):
    def embed(self, x, positions):
        return super().embed(x, positions[0] if positions.ndim == 2 else positions)


class FirstRowBias(PositionScheme):
    """A bias that depends on the batch."""

    def bias(self, q_positions, k_positions):
        rows = q_positions.shape[:-1]
        if rows:
            q_positions, k_positions = q_positions[0], k_positions[0]
        n = (q_positions[:, None] - k_positions).float()
        return (-0.1 * n.abs()).expand(*rows, self.dims.n_heads, *n.shape)


class MeanOverBatch(Waves):
    def embed(self, x, positions):
        return super().embed(x - x.mean(dim=0, keepdim=True) / 2, positions)


class StartsFromZero(Waves):
    """Rows are counted from their own first position; one row for all is not."""

    def embed(self, x, positions):
        if positions.ndim == 2:
            positions = positions - positions[:, :1]
        return super().embed(x, positions)


class CachedByLength(Waves):
    def embed(self, x, positions):
        self.cache = getattr(self, "cache", {})
        vectors = self.cache.setdefault(x.shape[1], self.waves(positions, x.shape[-1]))
        return (x + vectors).type_as(x)


class CachedByLengthForAll(Waves):
    cache = {}  # noqa: RUF012 (the mistake)

    def embed(self, x, positions):
        key = (positions.shape, x.device)
        vectors = self.cache.setdefault(key, self.waves(positions, x.shape[-1]))
        return (x + vectors).type_as(x)


class CachedWithoutTheta(Waves):
    """The key has everything but what the instance is configured with."""

    cache = {}  # noqa: RUF012 (the mistake)

    def embed(self, x, positions):
        key = (str(positions.tolist()), x.device)
        vectors = self.cache.setdefault(key, self.waves(positions, x.shape[-1]))
        return (x + vectors).type_as(x)


class ClampedAtTheEnd(Waves):
    def embed(self, x, positions):
        return super().embed(x, positions.clamp(max=self.dims.context_length - 1))


class ClampedThoughDeclared(ClampedAtTheEnd):
    max_length = 24


class HidesItsLimit(Waves):
    max_length = 24

    def embed(self, x, positions):
        if positions.device.type == "cpu" and positions.max() >= self.max_length:
            raise ValueError("too long")
        return super().embed(x, positions)


class ShorterThanDeclared(Waves):
    max_length = 48

    def waves(self, positions, width):
        table = super().waves(torch.arange(40, device=positions.device), width)
        return table[positions]


class RaisesAnIndexError(ShorterThanDeclared):
    max_length = 40


class EndsWithoutSayingSo(Waves):
    def waves(self, positions, width):
        return super().waves(positions, width) + torch.log1p(-positions.float() / 100)[..., None]


class FalseShiftInvariance(Waves):
    shift_invariant = True


class DependsOnLength(Waves):
    def embed(self, x, positions):
        return (super().embed(x, positions) + x.shape[1] / 100).type_as(x)


class LogLengthScale(PositionScheme):
    """Scores grow with the logarithm of the length, which is that of the call."""

    def adjust_scores(self, scores, q, k, q_positions, k_positions):
        return scores * math.log(k.shape[-2] + 1)


class FalseLengthDependence(Waves):
    length_dependent = True


class Recurrent(Waves):
    """The vector of a token depends on where its call begins."""

    def embed(self, x, positions):
        began = (positions[..., :1, None] > 0).type_as(x)
        return super().embed(x, positions) + 0.1 * began


BROKEN = [
    (ArangeInside, "given_positions_count", "with arange"),
    (Recurrent, "given_positions_count", "Use the positions that are passed in"),
    (PlaceInPaddedRows, "left_padding_changes_nothing", "Positions count real tokens"),
    (FirstRowOnly, "batch_mates_do_not_matter", "another's positions"),
    (FirstRowBias, "batch_mates_do_not_matter", "against it alone"),
    (MeanOverBatch, "batch_mates_do_not_matter", "mean over the batch"),
    (StartsFromZero, "equal_rows_of_positions_equal_one", r"\(B, T\) and \(T,\)"),
    (CachedByLength, "earlier_calls_leave_no_trace", "cached by length"),
    (CachedByLengthForAll, "earlier_calls_leave_no_trace", "cached by length"),
    (CachedWithoutTheta, "other_instances_do_not_disturb", "shared by its instances"),
    (ClampedAtTheEnd, "max_length_as_declared", "positions 23 and 24 the same vector"),
    (ClampedThoughDeclared, "max_length_as_declared", "although max_length=24"),
    (HidesItsLimit, "max_length_as_declared", "hides max_length"),
    (
        ShorterThanDeclared,
        "max_length_as_declared",
        "48 tokens raised IndexError.* max_length is 48",
    ),
    (RaisesAnIndexError, "max_length_as_declared", "position 40 raised IndexError.*names it"),
    (
        EndsWithoutSayingSo,
        "max_length_as_declared",
        r"192 tokens give \d+ of \d+ logits.*max_length is None",
    ),
    (FalseShiftInvariance, "shift_invariance_as_declared", "moved by 1: off by .* to False"),
    (DependsOnLength, "given_positions_count", "the length of its input"),
    (LogLengthScale, "pieces_equal_the_full_pass", "declare length_dependent = True"),
    (FalseLengthDependence, "pieces_equal_the_full_pass", "leave the declaration out"),
]


@pytest.mark.parametrize(("kind", "check", "words"), BROKEN)
def test_found_by_one_check(failures, kind, check, words):
    found = failures(kind)
    assert list(found) == [check], found
    assert re.search(words, found[check]), found[check]


def test_the_scheme_that_is_spoiled_is_sound(failures):
    assert failures(Waves) == {}
