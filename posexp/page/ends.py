"""The names beside a line chart, each at the end of its line and joined to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posexp.page.frame import Frame
from posexp.page.html import Html, tag
from posexp.page.looks import Look
from posexp.page.series import Series
from posexp.page.spread import spread

GAP = 14  # px between names
CHARACTER = 6.6  # px of a character
INDENT = 17  # px from the plot to a name
NEAR = 40  # px from the edge within which a line ends there


def width_of_names(series: Sequence[Series]) -> int:
    """The px that the names need at the right of a plot."""
    return INDENT + round(CHARACTER * max(len(s.ending) for s in series))


def end_names(series: Sequence[Series], looks: Sequence[Look], frame: Frame) -> Html:
    """The names of `series`, moved apart, with a thin line to the end of the line of each."""
    _, top, right, bottom = frame.box
    room = bottom - top
    ends, names = [], []
    for one, look in zip(series, looks, strict=True):
        last = one.runs(frame.x.scale, frame.y.scale)[-1][-1]
        x, y = frame.px(one.x[last]), min(max(frame.py(one.y[last]), top), bottom)
        if x > right - NEAR:
            ends.append((y, x, one, look))
        else:  # a line that ends early is named where it ends
            names.append(_name(one, look, one.ending, x + 8, y))
    ends.sort(key=lambda end: end[0])
    places = spread(np.array([(y - top) / room for y, *_ in ends]), GAP / room) * room + top
    for (y, x, one, look), place in zip(ends, places, strict=True):
        leader = f"M{min(x, right) + 4:.1f} {y:.1f}L{right + INDENT - 3:.1f} {place:.1f}"
        name = shorten(one.ending, frame.right - INDENT)
        path = tag("path", d=leader, class_="leader")
        names.append(_name(one, look, name, right + INDENT, place, path))
    return tag("g", *names, class_="names")


def _name(
    one: Series, look: Look, name: str, x: float, y: float, leader: Html | None = None
) -> Html:
    text = tag("text", name, x=f"{x:.1f}", y=f"{y + 4:.1f}")
    return tag(
        "g", leader, text, class_=f"name c{look.color}", style=one.style, data_key=one.switch
    )


def shorten(name: str, width: float) -> str:
    """`name`, cut in its middle where it is longer than `width` px: both ends may tell it apart."""
    room = max(4, round(width / CHARACTER))
    if len(name) <= room:
        return name
    front = room // 2
    return f"{name[:front]}\N{HORIZONTAL ELLIPSIS}{name[front - room + 1 :]}"
