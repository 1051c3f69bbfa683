import re

import pytest

from posexp.page import Cell, Column, Row, Table
from posexp.page.looks import Looks


def test_seeds_stand_in_the_body_of_their_row():
    rows = [
        Row(["rope", 2.17], children=[Row(["seed 0", 2.1]), Row(["seed 1", 2.2])]),
        Row(["alibi", 2.43]),
    ]
    written = Table(["scheme", "loss"], rows).html(Looks())
    bodies = re.findall(r"<tbody>(.*?)</tbody>", written)
    assert [body.count("<tr") for body in bodies] == [3, 1]
    assert bodies[0].count('class="child"') == 2
    # Only what has something to unfold has a button for it.
    assert ["fold" in body for body in bodies] == [True, False]


def test_cells_sort_by_their_value_and_not_by_their_text():
    row = [Cell("n/a"), Cell("1.2M", value=1_200_000, note="± 3"), 0.5, None]
    written = Table(["a", "b", "c", "d"], [row]).html(Looks())
    assert 'data-v="1200000"' in written
    assert "<small>± 3</small>" in written
    assert 'data-v="0.5"' in written
    assert re.search(r'<td class="n muted"></td>', written)


def test_titles_that_sort_are_buttons_and_say_how_they_are_sorted():
    columns = [Column("a", numeric=False), Column("b", sortable=False)]
    written = Table(columns, [["x", 1]]).html(Looks())
    titles = re.findall(r"<th [^>]*scope=\"col\".*?</th>", written)
    assert 'aria-sort="none"' in titles[0]
    assert '<button type="button">a</button>' in titles[0]
    assert "button" not in titles[1]
    assert "aria-sort" not in titles[1]


def test_neighbours_share_a_second_title():
    columns = [Column("s"), Column("T", group="loss"), Column("2 T", group="loss"), Column("GiB")]
    written = Table(columns, [["a", 1, 2, 3]]).html(Looks())
    assert re.findall(r'<th colspan="(\d)"[^>]*>(\w*)</th>', written) == [
        ("1", ""),
        ("2", "loss"),
        ("1", ""),
    ]


def test_a_row_of_the_page_s_key_shows_its_line():
    table = Table(["scheme"], [Row(["rope"], key="rope"), Row(["other"], key="other")])
    assert table.html(Looks(["rope"])).count('class="sample') == 1


def test_text_is_harmless():
    written = Table(["<i>"], [["<b>"]], title="<u>", caption="<s>").html(Looks())
    assert not re.search(r"<[ibus]>", written)


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns: 'x'"):
        Table(["a", "b"], [["x"]]).html(Looks())
