import itertools

import numpy as np
import pytest

from posexp.page import Point, Scatter
from posexp.page.scatter import CHARACTER, LINE


def boxes(svg):
    found = []
    for text in svg.iter("text"):
        if text.get("class") == "name":
            x, y = float(text.get("x")), float(text.get("y"))
            found.append((x, y - LINE, x + CHARACTER * len(text.text), y))
    return found


def test_names_do_not_touch_each_other(drawing):
    random = np.random.default_rng(0)
    points = [Point(f"name{i}", *random.random(2)) for i in range(10)]
    found = boxes(drawing(Scatter(points, "x", "y")))
    assert len(found) >= 8
    for a, b in itertools.combinations(found, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def test_a_crowd_is_not_named(drawing):
    points = [Point(str(i), i, i) for i in range(17)]
    assert boxes(drawing(Scatter(points, "x", "y"))) == []


def test_a_point_without_a_number_is_left_out(drawing):
    svg = drawing(Scatter([Point("a", None, 1.0), Point("b", 2.0, 1.0)], "x", "y"))
    assert [g.get("data-name") for g in svg.iter("g") if g.get("data-name")] == ["b"]


def test_an_interval_reaches_from_low_to_high(drawing, points):
    svg = drawing(Scatter([Point("a", 1, 2, low=1.5, high=3.0), Point("b", 3, 1)], "x", "y"))
    (bar,) = [e for e in svg.iter("line") if e.get("class") == "whisker"]
    places = {
        g.get("data-name"): points(next(g.iter("polyline")))[0]
        for g in svg.iter("g")
        if g.get("data-name")
    }
    scale = places["b"][1] - places["a"][1]  # px a unit of y
    assert float(bar.get("y1")) == pytest.approx(places["a"][1] + 0.5 * scale, abs=0.2)
    assert float(bar.get("y2")) == pytest.approx(places["a"][1] - 1.0 * scale, abs=0.2)
