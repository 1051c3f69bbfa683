"""Line charts: names told apart by colour, dashes and marker, with bands and faint lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from posexp.page.axis import Axis, Scale
from posexp.page.frame import SIZES, Frame, Level, Mark, Size, figure, polyline
from posexp.page.html import Html, join, tag
from posexp.page.looks import Look, Looks, marker, sample
from posexp.page.numbers import number
from posexp.page.spread import spread

MOST_LABELS = 14  # names beside a chart; with more of them the key alone tells
LABEL_GAP = 14  # px between them
CHARACTER = 6.6  # px of a character
MOST_MARKERS = 12  # along a line; longer lines get this many
Line = tuple[Sequence[float], Sequence[float | None]]


@dataclass(frozen=True)
class Series:
    """A line through (x, y); a None in `y` breaks it. `low` and `high` are its band.

    name
        What the hover and the label beside the line say.
    key
        The name of the page's key that switches it on and off: `name` by default. A series whose
        key is not on the page gets the next free look and stands in a key below the chart.
    faint
        (x, y) of thin lines behind it, such as one a seed.
    notes
        What the hover adds to each point, such as "± 0.012, 3 seeds".
    end
        Why the line ends early, such as "n/a": said beside its name.
    shade
        0 to 1: a colour of an ordered ramp instead of a look's, for series in an order (heads).
    dashed, points
        A dashed line whatever the look; markers or none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    faint: Sequence[Line] = field(default_factory=tuple)
    notes: Sequence[str] | None = None
    key: str | None = None
    end: str = ""
    shade: float | None = None
    dashed: bool = False
    points: bool = True


@dataclass(frozen=True)
class LineChart:
    """Lines over two axes; scales are "linear", "log2" or "log10".

    `x_ticks` fixes the ticks (lengths of a sweep, say); `y_range` fixes (low, high), and what lies
    outside is cut off; `x_form` and `y_form` are format specs (".3f") of ticks and hover. `marks`
    are vertical rules, `levels` dotted horizontal lines. `labels=False` leaves out the names beside
    the lines. Without any finite value it says "nothing to draw" in its place.
    """

    series: Sequence[Series]
    x_label: str
    y_label: str
    title: str = ""
    caption: str = ""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    x_ticks: Sequence[float] | None = None
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    x_form: str = ""
    y_form: str = ""
    marks: Sequence[Mark] = field(default_factory=tuple)
    levels: Sequence[Level] = field(default_factory=tuple)
    size: Size = "half"
    labels: bool = True

    def html(self, looks: Looks) -> Html:
        drawn = [s for s in self.series if any(True for _ in self._pieces(s))]
        if not drawn:
            return figure(tag("p", "nothing to draw", class_="empty"), self.title, "", self.size)
        frame = self._frame(drawn)
        styles = _styles(drawn, looks)
        lines = [self._draw(s, frame, styles[i]) for i, s in enumerate(drawn)]
        clipped: Html = join(*lines)
        if self.y_range or self.x_range:
            left, top, right, bottom = frame.box
            # An inner svg of the same coordinates cuts off what lies outside, without an id.
            clipped = tag(
                "svg", *lines, x=left - 6, y=top, width=right - left + 12, height=bottom - top,
                viewBox=f"{left - 6} {top} {right - left + 12} {bottom - top}",
            )  # fmt: skip
        names = self._names(drawn, frame, styles) if frame.right else None
        drawing = frame.svg(
            frame.axes(self.marks, self.levels), clipped, names,
            label=f"{self.title or self.y_label}: {self.y_label} against {self.x_label}",
        )  # fmt: skip
        own = [i for i, s in enumerate(drawn) if looks.get(s.key or s.name) is None]
        key = _own_key([(drawn[i], styles[i]) for i in own])
        return figure(drawing, self.title, self.caption, self.size, key)

    def _frame(self, drawn: Sequence[Series]) -> Frame:
        x = Axis.fit(
            self.x_label, [v for s in drawn for v in s.x], scale=self.x_scale, ticks=self.x_ticks,
            limits=self.x_range, room=0.03, form=self.x_form,
        )  # fmt: skip
        heights = [level.y for level in self.levels]
        for s in drawn:
            heights += [v for values in (s.y, s.low, s.high) for v in values or () if v is not None]
            heights += [v for _, values in s.faint for v in values if v is not None]
        y = Axis.fit(
            self.y_label, heights, scale=self.y_scale, limits=self.y_range, room=0.06,
            form=self.y_form,
        )  # fmt: skip
        right = 0
        if self.labels and 1 < len(drawn) <= MOST_LABELS and self.size != "small":
            longest = max(len(_ending(s)) for s in drawn)
            right = min(SIZES[self.size][0] // 4, 18 + round(CHARACTER * longest))
        return Frame(x, y, self.size, right=right)

    def _pieces(self, series: Series) -> Iterator[list[int]]:
        """Runs of indices at which there is a value that can be drawn."""
        ok = [
            self.y_scale == "linear" or (y or 0) > 0 if y is not None and np.isfinite(y) else False
            for y in series.y
        ]
        if self.x_scale != "linear":
            ok = [a and x > 0 for a, x in zip(ok, series.x, strict=True)]
        for good, run in itertools.groupby(range(len(ok)), key=ok.__getitem__):
            if good:
                yield list(run)

    def _draw(self, series: Series, frame: Frame, look: Look) -> Html:
        pieces = list(self._pieces(series))
        shown = [i for piece in pieces for i in piece]
        at = {i: (frame.px(series.x[i]), frame.py(series.y[i])) for i in shown}
        parts = [_band(series, piece, frame) for piece in pieces] if series.low else []
        for xs, ys in series.faint:
            ok = [(x, y) for x, y in zip(xs, ys, strict=True) if frame.y.holds(y)]
            parts.append(polyline([(frame.px(x), frame.py(y)) for x, y in ok], "f"))
        parts += [polyline([at[i] for i in piece], "l") for piece in pieces]
        if series.points:
            step = -(-len(shown) // MOST_MARKERS)
            parts += [marker(look, *at[i]) for i in shown[:: step or 1]]
        notes = series.notes and "|".join(series.notes[i].replace("|", "/") for i in shown)
        return tag(
            "g", *parts,
            class_=f"s {look.classes}" + (" d1" if series.dashed and not look.dash else ""),
            style=_shade(series.shade), data_key=series.key or series.name, data_name=series.name,
            data_x="|".join(number(series.x[i], self.x_form) for i in shown),
            data_y="|".join(number(series.y[i], self.y_form) for i in shown),
            data_note=notes or None,
        )  # fmt: skip

    def _names(self, drawn: Sequence[Series], frame: Frame, styles: Sequence[Look]) -> Html:
        _, top, right, bottom = frame.box
        ends = []
        for i, series in enumerate(drawn):
            last = [piece[-1] for piece in self._pieces(series)][-1]
            y = min(max(frame.py(series.y[last]), top), bottom)
            ends.append((y, frame.px(series.x[last]), i))
        ends.sort()
        room = bottom - top
        places = spread(np.array([(y - top) / room for y, _, _ in ends]), LABEL_GAP / room)
        parts = []
        for (y, x, i), place in zip(ends, places * room + top, strict=True):
            series, look = drawn[i], styles[i]
            name = shorten(_ending(series), frame.right)
            leader = f"M{min(x, right) + 4:.1f} {y:.1f}L{right + 14:.1f} {place:.1f}"
            parts.append(
                tag(
                    "g",
                    tag("path", d=leader, class_="leader") if x > right - 20 else None,
                    tag("text", name, x=f"{right + 17:.1f}", y=f"{place + 4:.1f}"),
                    class_=f"name c{look.color}", style=_shade(series.shade),
                    data_key=series.key or series.name,
                )
            )  # fmt: skip
        return tag("g", *parts, class_="names")


def _styles(drawn: Sequence[Series], looks: Looks) -> list[Look]:
    """Each series' look: the page's, or the next one that the chart does not use."""
    found = [looks.get(s.key or s.name) for s in drawn]
    free = (Look.number(i) for i in itertools.count() if Look.number(i) not in found)
    return [look or next(free) for look in found]


def _band(series: Series, piece: Sequence[int], frame: Frame) -> Html:
    known = [i for i in piece if frame.y.holds(series.low[i]) and frame.y.holds(series.high[i])]
    there = [(frame.px(series.x[i]), frame.py(series.high[i])) for i in known]
    back = [(frame.px(series.x[i]), frame.py(series.low[i])) for i in reversed(known)]
    return polyline(there + back, "b")


def _ending(series: Series) -> str:
    return f"{series.name} ({series.end})" if series.end else series.name


def shorten(name: str, width: float) -> str:
    """`name`, cut in its middle where it is longer than `width` px: its end tells most apart."""
    room = max(4, int((width - 18) / CHARACTER))
    if len(name) <= room:
        return name
    front = room // 3
    return f"{name[:front]}\N{HORIZONTAL ELLIPSIS}{name[front - room + 1 :]}"


def _shade(shade: float | None) -> str | None:
    if shade is None:
        return None
    return f"--c:color-mix(in oklab,var(--ramp1) {100 * shade:.0f}%,var(--ramp0))"


def _own_key(entries: Sequence[tuple[Series, Look]]) -> Html | None:
    if len(entries) < 2:
        return None
    items = [
        tag("span", sample(look), s.name, class_="item", style=_shade(s.shade))
        for s, look in entries
    ]
    return tag("div", *items, class_="ownkey")
