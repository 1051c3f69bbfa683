"""Reading what a block wrote, as XML where it is a drawing."""

import re
from xml.etree import ElementTree

import pytest

from posexp.page.looks import Looks


@pytest.fixture
def drawing():
    """`drawing(block, names)`: the <svg> of a chart, parsed."""

    def parse(block, names=()):
        written = block.html(Looks(names))
        return ElementTree.fromstring(
            re.search(r'"--shown:[^>]*>(<svg .*?</svg>)</div>', written)[1]
        )

    return parse


@pytest.fixture
def points():
    """`points(element)`: the places of a polyline in px."""

    def parse(element):
        return [tuple(map(float, pair.split(","))) for pair in element.get("points").split()]

    return parse
