import math

import numpy as np
import pytest

from posexp.page.axis import MOST_TICKS, Axis, can_hold


@pytest.mark.parametrize("scale", ["linear", "log2", "log10"])
def test_a_value_lies_where_interpolation_puts_it(scale):
    axis = Axis("x", 2.0, 64.0, [], scale)
    transform = {"linear": np.asarray, "log2": np.log2, "log10": np.log10}[scale]
    for value in (2.0, 3.5, 32.0, 64.0):
        expected = np.interp(transform(value), transform([2.0, 64.0]), [0, 1])
        assert axis.place(value) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (2.17, 2.43, [2.2, 2.25, 2.3, 2.35, 2.4]),
        (-0.004, 0.011, [0, 0.005, 0.01]),
    ],
)
def test_linear_ticks_are_round(low, high, expected):
    axis = Axis.fit("x", [low, high], limits=(low, high))
    assert axis.ticks == pytest.approx(expected)
    assert all(len(axis.text(tick)) <= 6 for tick in axis.ticks)


def test_ticks_of_lengths_are_their_powers_of_two():
    assert Axis.fit("L", [64, 1024], scale="log2").ticks == [64, 128, 256, 512, 1024]


def test_logarithmic_ticks_within_a_decade():
    assert Axis.fit("loss", [1.8, 5.3], scale="log10", room=0).ticks == [2, 3, 4, 5]


@pytest.mark.parametrize("scale", ["linear", "log2", "log10"])
def test_any_range_gets_a_few_ticks_inside_it(scale):
    random = np.random.default_rng(0)
    for _ in range(300):
        low = 10 ** random.uniform(-6, 6)
        high = low * 10 ** random.uniform(0.05, 6)
        axis = Axis.fit("x", [low, high], scale=scale)
        assert 2 <= len(axis.ticks) <= MOST_TICKS + 3
        assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
        assert list(axis.ticks) == sorted(set(axis.ticks))


def test_an_axis_has_room_around_its_values_and_none_around_given_limits():
    axis = Axis.fit("x", [0.0, 10.0], room=0.1)
    assert (axis.low, axis.high) == (-1, 11)
    assert Axis.fit("x", [0.0, 10.0], limits=(2, 3)).low == 2


def test_one_value_still_has_an_axis():
    for value in (0.0, 3.0, -2.0):
        axis = Axis.fit("x", [value])
        assert axis.low < value < axis.high
        assert axis.ticks


def test_what_a_scale_cannot_hold():
    assert can_hold(-1.0, "linear")
    assert not can_hold(-1.0, "log10")
    assert not can_hold(0.0, "log2")
    assert not can_hold(None, "linear")
    assert not can_hold(math.nan, "linear")
    with pytest.raises(ValueError, match="at least one finite value: 'loss'"):
        Axis.fit("loss", [None, math.nan, -1.0], scale="log10")
