"""Line charts: names told apart by colour, dashes and marker, with bands and faint lines."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from posexp.page.axis import Axis, Scale
from posexp.page.ends import end_names, width_of_names
from posexp.page.frame import SIZES, Frame, Level, Mark, Size, figure, polyline
from posexp.page.html import Html, join, tag
from posexp.page.looks import Look, Looks, marker, sample
from posexp.page.numbers import number
from posexp.page.series import Series

MOST_LABELS = 14  # names beside a chart; with more of them the key alone tells
MOST_MARKERS = 12  # along a line; longer lines get this many
CROWD = 40  # lines from which on only a line of one point has a marker


@dataclass(frozen=True)
class LineChart:
    """Lines over two axes; scales are "linear", "log2" or "log10".

    `x_ticks` fixes the ticks (lengths of a sweep, say); `y_range` fixes (low, high), and what lies
    outside is cut off; `x_form` and `y_form` are format specs (".3f") of what the hover says.
    `marks` are vertical rules, `levels` dotted horizontal lines. `labels=False` leaves out the
    names beside the lines. Without any finite value it says "nothing to draw" in its place.
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
        drawn = [s for s in self.series if s.runs(self.x_scale, self.y_scale)]
        if not drawn:
            return figure(tag("p", "nothing to draw", class_="empty"), self.title, "", self.size)
        styles = _styles(drawn, looks)
        # A phone would shrink a wide drawing until nobody can read it: it gets one of its own.
        sizes = ("wide", "narrow") if self.size == "wide" else (self.size,)
        drawings = [self._drawing(drawn, styles, self._frame(drawn, size)) for size in sizes]
        own = [i for i, s in enumerate(drawn) if looks.get(s.switch) is None]
        key = _own_key([(drawn[i], styles[i]) for i in own])
        return figure(join(*drawings), self.title, self.caption, self.size, key)

    def _drawing(self, drawn: Sequence[Series], styles: Sequence[Look], frame: Frame) -> Html:
        crowd = len(drawn) > CROWD
        lines = [self._draw(s, frame, styles[i], crowd) for i, s in enumerate(drawn)]
        clipped: Html = join(*lines)
        if self.y_range or self.x_range:
            left, top, right, bottom = frame.box
            # An inner svg of the same coordinates cuts off what lies outside, without an id.
            clipped = tag(
                "svg", *lines, x=left - 6, y=top, width=right - left + 12, height=bottom - top,
                viewBox=f"{left - 6} {top} {right - left + 12} {bottom - top}",
            )  # fmt: skip
        names = end_names(drawn, styles, frame) if frame.right else None
        return frame.svg(
            frame.axes(self.marks, self.levels), clipped, names,
            label=f"{self.title or self.y_label}: {self.y_label} against {self.x_label}",
        )  # fmt: skip

    def _frame(self, drawn: Sequence[Series], size: str) -> Frame:
        x = Axis.fit(
            self.x_label, [v for s in drawn for v in s.x], scale=self.x_scale, ticks=self.x_ticks,
            limits=self.x_range, room=0.03
        )  # fmt: skip
        heights = [level.y for level in self.levels]
        for s in drawn:
            heights += [v for values in (s.y, s.low, s.high) for v in values or () if v is not None]
            heights += [v for _, values in s.faint for v in values if v is not None]
        y = Axis.fit(
            self.y_label, heights, scale=self.y_scale, limits=self.y_range, room=0.06
        )  # fmt: skip
        right = 0
        if self.labels and 1 < len(drawn) <= MOST_LABELS and size in ("wide", "half"):
            right = min(SIZES[size][0] // 4, width_of_names(drawn))
        return Frame(x, y, size, right=right)

    def _draw(self, series: Series, frame: Frame, look: Look, crowd: bool) -> Html:
        pieces = series.runs(self.x_scale, self.y_scale)
        shown = [i for piece in pieces for i in piece]
        at = {i: (frame.px(series.x[i]), frame.py(series.y[i])) for i in shown}
        parts = [_band(series, piece, frame) for piece in pieces] if series.low else []
        for xs, ys in series.faint:
            ok = [(x, y) for x, y in zip(xs, ys, strict=True) if frame.y.holds(y)]
            parts.append(polyline([(frame.px(x), frame.py(y)) for x, y in ok], "f"))
        parts += [polyline([at[i] for i in piece], "l") for piece in pieces]
        if series.points and (not crowd or len(shown) == 1):
            step = -(-len(shown) // MOST_MARKERS)
            parts += [marker(look, *at[i]) for i in shown[:: step or 1]]
        notes = series.notes and "|".join(series.notes[i].replace("|", "/") for i in shown)
        return tag(
            "g", *parts,
            class_=f"s {look.classes}" + (" d1" if series.dashed and not look.dash else ""),
            style=series.style, data_key=series.switch, data_name=series.name,
            data_x="|".join(number(series.x[i], self.x_form) for i in shown),
            data_y="|".join(number(series.y[i], self.y_form) for i in shown),
            data_note=notes or None,
        )  # fmt: skip


def _styles(drawn: Sequence[Series], looks: Looks) -> list[Look]:
    """Each series' look: the page's, or the next one that the chart does not use."""
    found = [looks.get(s.switch) for s in drawn]
    free = (Look.number(i) for i in itertools.count() if Look.number(i) not in found)
    return [look or next(free) for look in found]


def _band(series: Series, piece: Sequence[int], frame: Frame) -> Html:
    known = [i for i in piece if frame.y.holds(series.low[i]) and frame.y.holds(series.high[i])]
    there = [(frame.px(series.x[i]), frame.py(series.high[i])) for i in known]
    back = [(frame.px(series.x[i]), frame.py(series.low[i])) for i in reversed(known)]
    return polyline(there + back, "b")


def _own_key(entries: Sequence[tuple[Series, Look]]) -> Html | None:
    if len(entries) < 2:
        return None
    items = [tag("span", sample(look, s.style), s.name, class_="item") for s, look in entries]
    return tag("div", *items, class_="ownkey")
