import pytest

from posexp.report.estimate import Contrast, Estimate, Interval
from posexp.report.page.differences import common_axis
from posexp.report.page.fairness import values
from posexp.report.page.words import cell, length_name, plus_minus, times
from posexp.report.row import Cell
from posexp.report.study import WARNING, Differing

TEXT, SEEDS, BOTH = Interval(1.9, 2.1), Interval(1.8, 2.2), Interval(1.7, 2.3)


@pytest.mark.parametrize(
    ("length", "t", "expected"),
    [
        (128, 128, "T"),
        (256, 128, "2 T"),
        (192, 128, "1.5 T"),
        (64, 128, "T/2"),
        (96, 128, "0.75 T"),
    ],
)
def test_lengths_in_training_lengths(length, t, expected):
    assert times(length, t) == expected


def test_a_length_has_both_its_names():
    assert length_name(256, 128) == "2 T = 256"
    assert length_name(256, None) == "256"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Estimate(2.0, 3, over_text=TEXT, over_seeds=SEEDS, both=BOTH), "± 0.300"),
        (Estimate(2.0, 3, over_seeds=SEEDS), "± 0.200 seeds"),
        (Estimate(2.0, 1, over_text=TEXT), "± 0.100 text"),
        (Estimate(2.0, 1), ""),
        (Estimate(2.0, 3, both=Interval(1.9999, 2.0001)), "± <0.001"),
        (None, ""),
    ],
)
def test_an_interval_says_what_it_covers(found, expected):
    assert plus_minus(found) == expected


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("undefined", "n/a"),
        ("memory", "n/a (memory)"),
        ("not tested", ""),
        ("diverged", "diverged"),
    ],
)
def test_a_missing_number_says_why(status, text):
    assert cell(Cell(status, None, ())).text == text


def contrast(low, high):
    return Contrast("worse", "", Estimate((low + high) / 2, 3, both=Interval(low, high)))


def test_one_far_difference_does_not_press_the_others_flat():
    near = [contrast(0.01 * i, 0.01 * i + 0.02) for i in range(6)]
    assert common_axis(near) is None
    low, high = common_axis([*near, contrast(2.9, 3.1)])
    assert high < 0.5
    assert low <= 0 <= high
    assert all(c.estimate.both.high <= high for c in near)


def test_a_far_difference_on_the_good_side_is_cut_too():
    near = [contrast(-0.01 * i - 0.02, -0.01 * i) for i in range(6)]
    low, _ = common_axis([*near, contrast(-3.1, -2.9)])
    assert low > -0.5
    assert all(c.estimate.both.low >= low for c in near)


def test_values_are_grouped_by_who_has_them():
    differing = Differing(
        "optimizer.lr", {"a": ("1",), "b": ("2",), "c": ("2",), "d": ("2", "3")}, WARNING, ""
    )
    assert values(differing) == "1: a; 2, 3: d; 2: b, c"


def test_many_values_and_many_settings_are_counted():
    many = Differing("x", {f"s{i}": ("1",) for i in range(9)}, WARNING, "")
    assert values(many) == "1: s0, s1, s2 and 6 more"
    all_differ = Differing("x", {f"s{i}": (str(i),) for i in range(20)}, WARNING, "")
    assert values(all_differ).endswith("11: s11; 8 more values")
