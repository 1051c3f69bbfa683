import re

import pytest

from posexp.page import Estimate, Intervals
from posexp.page.looks import Looks


def rows(intervals, names=()):
    written = intervals.html(Looks(names))
    return re.findall(r'<div class="estimate[ "].*?(?=<div class="estimate[ "]|$)', written)


def share(row, kind, name):
    """The place of an element along the axis, in per cent."""
    element = re.search(rf'<[^>]*class="{kind}"[^>]*>', row).group()
    return float(re.search(rf'\b{name}="([\d.-]+)%"', element).group(1))


def test_a_row_is_drawn_to_scale():
    (row, *_) = rows(Intervals([Estimate("a", 1.0, -1.0, 2.0, points=[0.5])], "d", limits=(-2, 2)))
    assert share(row, "zero", "x1") == 50
    assert share(row, "dot", "cx") == 75
    assert (share(row, "bar", "x1"), share(row, "bar", "x2")) == (25, 100)
    assert share(row, "seed", "cx") == pytest.approx(62.5)
    assert "+1.000 [\N{MINUS SIGN}1.000, +2.000]" in row


def test_zero_is_always_on_the_axis():
    (row, *_) = rows(Intervals([Estimate("a", 3.0, 2.9, 3.1)], "d"))
    assert 0 < share(row, "zero", "x1") < 10


def test_what_lies_beyond_the_axis_is_an_arrow_with_its_number():
    (row, *_) = rows(Intervals([Estimate("a", 5.0, 4.0, 6.0)], "d", limits=(-1, 1)))
    assert 'class="dot"' not in row
    assert "▶" in row
    assert "+5.000" in row


def test_a_missing_number_says_why():
    (row, *_) = rows(Intervals([Estimate("a", None, verdict="diverged")], "d"))
    assert "diverged" in row
    assert 'class="dot"' not in row


def test_what_is_not_claimed_is_hollow_and_says_so():
    (row, *_) = rows(
        Intervals([Estimate("a", 0.1, verdict="not distinguishable", muted=True)], "d")
    )
    assert row.startswith('<div class="estimate muted"')
    assert "not distinguishable" in row
