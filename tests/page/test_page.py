import re
from html.parser import HTMLParser

import pytest

from posexp.page import (
    Bullets,
    Code,
    Details,
    Facts,
    Grid,
    Heading,
    LineChart,
    Note,
    Page,
    Row,
    Section,
    Series,
    Table,
    Views,
    code,
    join,
)

EVIL = '<b onclick="x">&'


@pytest.fixture
def page():
    chart = LineChart([Series(EVIL, [1, 2], [1, 2]), Series("b", [1, 2], [2, 1])], "x", "y")
    body = [
        f"A paragraph of {EVIL}",
        join("With ", code(EVIL)),
        chart,
        Grid([chart, chart]),
        Views({"one": chart, "two": [chart, EVIL]}),
        Table([EVIL], [Row([EVIL], key=EVIL)], title=EVIL, caption=EVIL),
        Note(EVIL, kind="warning"),
        Bullets([EVIL]),
        Facts([(EVIL, EVIL)]),
        Code(EVIL, EVIL),
        Details(EVIL, [EVIL]),
        Heading(EVIL),
    ]
    return Page(
        EVIL, EVIL, [Section("one", EVIL, body), Section("two", "Two", EVIL)],
        keys=[EVIL, "b"], notes={EVIL: EVIL}, footer=EVIL,
    ).render()  # fmt: skip


class Reader(HTMLParser):
    """What a browser sees: elements, and whether each is closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.faults = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def test_every_element_is_closed_and_every_id_is_one(page):
    reader = Reader(page)
    assert reader.faults == []
    assert reader.open == []
    ids = [attributes["id"] for _, attributes in reader.found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_no_name_becomes_markup(page):
    reader = Reader(page)
    assert "b" not in {tag for tag, _ in reader.found}
    assert not any("onclick" in attributes for _, attributes in reader.found)


def test_nothing_points_outside(page):
    for tag, attributes in Reader(page).found:
        for name in ("src", "href", "action", "srcset", "data"):
            target = attributes.get(name)
            assert target is None or target.startswith(("#", "data:")), (tag, target)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)
    assert "@import" not in style
    assert "url(" not in style


def test_the_browser_is_told_to_fetch_nothing(page):
    policies = [a["content"] for tag, a in Reader(page).found if a.get("http-equiv")]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'")
    assert "http" not in policies[0]


def test_the_contents_lead_to_every_section(page):
    reader = Reader(page)
    links = [a["href"] for tag, a in reader.found if tag == "a"]
    sections = [f"#{a['id']}" for tag, a in reader.found if tag == "section"]
    assert links == sections == ["#one", "#two"]


def test_the_key_starts_with_the_first_names_on():
    names = [f"n{i}" for i in range(5)]
    text = Page("t", "s", [], keys=names, shown=3).render()
    pressed = [a["aria-pressed"] for _, a in Reader(text).found if "data-key" in a]
    assert pressed == ["true"] * 3 + ["false"] * 2


def test_a_page_without_names_has_no_key():
    assert 'id="key"' not in Page("t", "s", []).render()


def test_one_view_needs_no_choice():
    text = Page("t", "s", [Section("a", "A", Views({"only": "words"}))]).render()
    assert "words" in text
    assert 'class="choice"' not in text
