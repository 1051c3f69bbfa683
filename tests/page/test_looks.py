import re

import pytest

from posexp.page.looks import Look, Looks
from posexp.page.page import asset


def luminance(color):
    """Relative luminance of WCAG 2.2."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def palettes():
    """The variables of the light and of the dark page."""
    blocks = re.findall(r":root \{(.*?)\}", asset("page.css"), re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks]


def test_256_names_have_256_looks():
    assert len({Look.number(i) for i in range(256)}) == 256


def test_neighbours_differ_in_more_than_their_colour():
    for i in range(31):
        a, b = Look.number(i), Look.number(i + 1)
        assert a.marker != b.marker
        assert (a.color, a.dash) != (b.color, b.dash)


def test_looks_go_by_alphabet_and_the_order_is_kept():
    looks = Looks(["b", "a", "b"])
    assert looks.names == ["b", "a"]
    assert looks.get("a") == Look.number(0)
    assert looks.get("b") == Look.number(1)
    assert looks.get("c") is None
    assert looks.get(None) is None


def test_looks_by_given_numbers():
    assert Looks({"b": 9, "a": 4}).get("b") == Look.number(9)


@pytest.mark.parametrize("page", [0, 1], ids=["light", "dark"])
def test_lines_and_words_are_seen_against_the_ground(page):
    colors = palettes()[page]
    # WCAG 2.2: 3 : 1 for parts of a figure (1.4.11), 4.5 : 1 for text (1.4.3).
    for i in range(8):
        assert contrast(colors[f"c{i}"], colors["ground"]) >= 3, f"c{i}"
    for name in ("ink", "quiet", "link"):
        assert contrast(colors[name], colors["ground"]) >= 4.5, name
    for name in ("warn", "bad", "good"):
        assert contrast(colors[name], colors[f"{name}-ground"]) >= 4.5, name
