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


def width_of_names(series: Sequence[Series]) -> int:
    """The px that the names need at the right of a plot."""
    return INDENT + round(CHARACTER * max(len(s.ending) for s in series))


def end_names(series: Sequence[Series], looks: Sequence[Look], frame: Frame) -> Html:
    """The names of `series`, moved apart, with a thin line to the end of the line of each."""
    _, top, right, bottom = frame.box
    room = bottom - top
    ends = []
    for i, one in enumerate(series):
        last = one.runs(frame.x.scale, frame.y.scale)[-1][-1]
        y = min(max(frame.py(one.y[last]), top), bottom)
        ends.append((y, frame.px(one.x[last]), i))
    ends.sort()
    places = spread(np.array([(y - top) / room for y, _, _ in ends]), GAP / room)
    names = []
    for (y, x, i), place in zip(ends, places * room + top, strict=True):
        leader = f"M{min(x, right) + 4:.1f} {y:.1f}L{right + INDENT - 3:.1f} {place:.1f}"
        names.append(
            tag(
                "g",
                # A line that ends early is named by its "n/a", not joined across the plot.
                tag("path", d=leader, class_="leader") if x > right - 20 else None,
                tag(
                    "text",
                    shorten(series[i].ending, frame.right - INDENT),
                    x=f"{right + INDENT:.1f}",
                    y=f"{place + 4:.1f}",
                ),
                class_=f"name c{looks[i].color}",
                style=series[i].style,
                data_key=series[i].switch,
            )
        )
    return tag("g", *names, class_="names")


def shorten(name: str, width: float) -> str:
    """`name`, cut in its middle where it is longer than `width` px: its end tells most apart."""
    room = max(4, round(width / CHARACTER))
    if len(name) <= room:
        return name
    front = room // 3
    return f"{name[:front]}\N{HORIZONTAL ELLIPSIS}{name[front - room + 1 :]}"
