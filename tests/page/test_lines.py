import itertools
import re

import pytest

from posexp.page import Level, LineChart, Mark, Series
from posexp.page.ends import shorten
from posexp.page.looks import Looks

# The plot area of a chart of size "half" without names beside it.
LEFT, TOP, RIGHT, BOTTOM = 46, 30, 420 - 14, 290 - 40


def chart(*series, **options):
    fixed = {"x_range": (0, 10), "y_range": (0, 1), "labels": False}
    return LineChart(list(series), "x", "y", **(fixed | options))


def group(svg, name):
    return next(g for g in svg.iter("g") if g.get("data-name") == name)


def test_points_lie_where_their_values_are(drawing, points):
    svg = drawing(chart(Series("a", [0, 5, 10], [0, 0.25, 1])))
    (line,) = [e for e in svg.iter("polyline") if e.get("class") == "l"]
    expected = [(LEFT, BOTTOM), ((LEFT + RIGHT) / 2, BOTTOM - (BOTTOM - TOP) / 4), (RIGHT, TOP)]
    assert points(line) == [pytest.approx(pair, abs=0.06) for pair in expected]


def test_a_missing_value_breaks_the_line_and_is_not_spoken_of(drawing, points):
    svg = drawing(
        chart(Series("a", [0, 1, 2, 3], [0.1, 0.2, None, 0.4], notes=["p", "q", "r", "s"]))
    )
    lines = [points(e) for e in svg.iter("polyline") if e.get("class") == "l"]
    assert [len(line) for line in lines] == [2, 1]
    found = group(svg, "a")
    assert found.get("data-x") == "0|1|3"
    assert found.get("data-y") == "0.1|0.2|0.4"
    assert found.get("data-note") == "p|q|s"


def test_a_logarithmic_axis_leaves_out_what_it_cannot_hold(drawing):
    series = Series("a", [1, 2, 4], [1.0, 0.0, -1.0])
    svg = drawing(LineChart([series], "x", "y", x_scale="log2", y_scale="log10"))
    assert group(svg, "a").get("data-x") == "1"


def test_a_band_goes_forth_on_its_upper_and_back_on_its_lower_end(drawing, points):
    svg = drawing(chart(Series("a", [0, 10], [0.5, 0.5], low=[0.2, 0.3], high=[0.7, 0.8])))
    (band,) = [points(e) for e in svg.iter("polyline") if e.get("class") == "b"]
    assert [x for x, _ in band] == [LEFT, RIGHT, RIGHT, LEFT]
    assert [y for _, y in band] == pytest.approx(
        [BOTTOM - share * (BOTTOM - TOP) for share in (0.7, 0.8, 0.3, 0.2)], abs=0.06
    )


def test_every_seed_is_a_thin_line(drawing):
    faint = [([0, 1], [0.1, 0.2]), ([0, 1], [0.3, None])]
    svg = drawing(chart(Series("a", [0, 1], [0.2, 0.3], faint=faint)))
    assert len([e for e in svg.iter("polyline") if e.get("class") == "f"]) == 2


def test_marks_and_levels_are_named(drawing):
    svg = drawing(
        chart(
            Series("a", [0, 10], [0, 1]),
            marks=[Mark(5, "T = 5", beyond="beyond training")],
            levels=[Level(0.5, "n-gram")],
        )
    )
    texts = [e.text for e in svg.iter("text")]
    assert "T = 5" in texts
    assert "beyond training →" in texts
    assert "n-gram" in texts
    (rule,) = [e for e in svg.iter("line") if e.get("class") == "mark"]
    assert float(rule.get("x1")) == pytest.approx((LEFT + RIGHT) / 2)


def test_names_of_the_page_share_their_looks_and_others_get_a_key_of_their_own():
    both = chart(
        Series("a", [0, 1], [0, 1]), Series("x", [0, 1], [0, 1]), Series("y", [0, 1], [1, 0])
    )
    written = both.html(Looks(["b", "a"]))
    assert 'class="s c0 d0" data-key="a"' in written
    key = written.split('class="ownkey"')[1]
    assert re.findall(r"</svg>(\w)</span>", key) == ["x", "y"]
    # c0 is the page's "a": the others take the next.
    assert 'class="s c1 d1" data-key="x"' in written


def test_a_name_in_angle_brackets_is_harmless():
    written = chart(Series("<b>", [0, 1], [0, 1]), Series("c", [0, 1], [0, 1])).html(Looks(["<b>"]))
    assert "<b>" not in written
    assert 'data-name="&lt;b&gt;"' in written


def test_nothing_to_draw_is_said():
    written = chart(Series("a", [0, 1], [None, None]), title="Loss").html(Looks())
    assert "nothing to draw" in written
    assert "Loss" in written


def test_names_beside_the_lines_do_not_touch(drawing):
    series = [Series(f"name {i}", [0, 1], [0.5, 0.5 + i / 1000]) for i in range(10)]
    svg = drawing(LineChart(series, "x", "y"))
    names = [g for g in svg.iter("g") if (g.get("class") or "").startswith("name ")]
    places = sorted(float(next(g.iter("text")).get("y")) for g in names)
    assert len(places) == 10
    assert min(b - a for a, b in itertools.pairwise(places)) >= 13.9


@pytest.mark.parametrize(
    ("ends", "labels"),
    [((0, 10), ["0", "2", "4", "6", "8", "10"]), ((9900, 12600), ["10000", "11000", "12000"])],
)
def test_labels_of_ticks_do_not_touch(drawing, ends, labels):
    series = Series("a", list(ends), [0, 1])
    svg = drawing(LineChart([series], "x", "y", size="small", x_range=ends))
    ticks = [e for e in svg.iter("text") if (e.get("class") or "").startswith("tick x")]
    assert [e.text for e in ticks] == labels


def test_a_long_name_is_cut_in_its_middle():
    assert shorten("rope", 100) == "rope"
    assert shorten("rope sliding lr=0.003 window=64", 100) == "rope sl…ndow=64"


@pytest.mark.parametrize(("lines", "marked"), [(40, True), (41, False)])
def test_a_crowd_of_lines_has_no_markers(drawing, lines, marked):
    svg = drawing(LineChart([Series(str(i), [0, 1], [i, i]) for i in range(lines)], "x", "y"))
    assert (next(svg.iter("use"), None) is not None) == marked


def test_a_wide_chart_has_a_drawing_of_its_own_for_phones():
    written = LineChart([Series("a", [0, 1], [0, 1])], "x", "y", size="wide").html(Looks())
    assert re.findall(r'<div class="plot (\w+)"', written) == ["wide", "narrow"]
