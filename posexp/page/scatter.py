"""Scatter charts: one named point each, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from posexp.page.axis import Axis, Scale
from posexp.page.frame import Frame, Level, Size, figure
from posexp.page.html import Html, tag
from posexp.page.looks import Look, Looks, marker
from posexp.page.numbers import number

MOST_LABELS = 16
CHARACTER = 6.6  # px of a character of a label
LINE = 13  # px of its height


@dataclass(frozen=True)
class Point:
    """A point and its name. `low` and `high` bound y; `key` is its name on the page's key."""

    name: str
    x: float | None
    y: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""
    key: str | None = None


@dataclass(frozen=True)
class Scatter:
    """Points over two axes, named beside them while there are at most 16 and where there is room.

    A point without x or y is left out; the caption should say so. Scales and forms as in
    `LineChart`.
    """

    points: Sequence[Point]
    x_label: str
    y_label: str
    title: str = ""
    caption: str = ""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    x_form: str = ""
    y_form: str = ""
    levels: Sequence[Level] = field(default_factory=tuple)
    size: Size = "half"

    def html(self, looks: Looks) -> Html:
        drawn = [p for p in self.points if p.x is not None and p.y is not None]
        if not drawn:
            return figure(tag("p", "nothing to draw", class_="empty"), self.title, "", self.size)
        x = Axis.fit(self.x_label, [p.x for p in drawn], scale=self.x_scale, room=0.12)
        heights = [v for p in drawn for v in (p.y, p.low, p.high)] + [v.y for v in self.levels]
        y = Axis.fit(self.y_label, heights, scale=self.y_scale, room=0.08)
        frame = Frame(x, y, self.size)
        parts = [self._draw(p, frame, looks) for p in drawn]
        drawing = frame.svg(
            frame.axes(levels=self.levels), *parts,
            self._names(drawn, frame) if len(drawn) <= MOST_LABELS else None,
            label=f"{self.title or self.y_label}: {self.y_label} against {self.x_label}",
        )  # fmt: skip
        return figure(drawing, self.title, self.caption, self.size)

    def _draw(self, point: Point, frame: Frame, looks: Looks) -> Html:
        look = looks.get(point.key or point.name) or Look(0, 0, 0)
        x, y = frame.px(point.x), frame.py(point.y)
        bar = None
        if point.low is not None and point.high is not None:
            bar = tag(
                "line", class_="whisker", x1=f"{x:.1f}", x2=f"{x:.1f}",
                y1=f"{frame.py(point.low):.1f}", y2=f"{frame.py(point.high):.1f}",
            )  # fmt: skip
        return tag(
            "g", bar, tag("polyline", class_="l", points=f"{x:.1f},{y:.1f}"), marker(look, x, y),
            class_=f"s {look.classes}", data_key=point.key or point.name, data_name=point.name,
            data_x=number(point.x, self.x_form), data_y=number(point.y, self.y_form),
            data_note=point.note or None,
        )  # fmt: skip

    def _names(self, drawn: Sequence[Point], frame: Frame) -> Html:
        """Each name at the first place beside its point that is free; none where none is."""
        left, top, right, bottom = frame.box
        dots = [(frame.px(p.x), frame.py(p.y)) for p in drawn]
        taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in dots]
        texts = []
        for point, (x, y) in zip(drawn, dots, strict=True):
            width = CHARACTER * len(point.name)
            places = [
                (x + 8, y), (x - 8 - width, y), (x - width / 2, y - 13), (x - width / 2, y + 13),
                (x + 8, y - 11), (x + 8, y + 11), (x - 8 - width, y - 11), (x - 8 - width, y + 11),
            ]  # fmt: skip
            boxes = [(a, b - LINE / 2, a + width, b + LINE / 2) for a, b in places]
            inside = [
                box for box in boxes
                if box[0] >= left and box[2] <= right + 12 and box[1] >= top and box[3] <= bottom
            ]  # fmt: skip
            free = [box for box in inside if not any(_overlap(box, other) for other in taken)]
            if not free:
                continue
            box = free[0]
            taken.append(box)
            key = point.key or point.name
            at = {"x": f"{box[0]:.1f}", "y": f"{box[3] - 2.5:.1f}"}
            texts.append(tag("text", point.name, class_="name", data_key=key, **at))
        return tag("g", *texts, class_="names near")


def _overlap(a: Sequence[float], b: Sequence[float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
