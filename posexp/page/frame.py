"""What the charts share: their sizes, axes, grid, marks, and the figure around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from posexp.page.axis import Axis
from posexp.page.html import Html, join, tag

Size = Literal["wide", "half", "small"]
# Width and height in px on a desktop; a phone scales them to its width.
SIZES: dict[str, tuple[int, int]] = {
    "wide": (860, 420),
    "half": (420, 290),
    "small": (270, 200),
} | {
    "narrow": (420, 330)  # a wide chart on a phone
}
LEFT, TOP, BOTTOM, RIGHT = 46, 30, 40, 14
WIDE_LEFT = 60
# More tick labels than this on a chart as narrow as a phone would touch.
FEW_TICKS = 6
CHARACTER = 6.5  # px of a digit of a tick's label


@dataclass(frozen=True)
class Mark:
    """A vertical rule at `x` with a short name; `beyond` names, and shades, what lies right of it.

    Mark(128, "T = 128", beyond="beyond training")
    """

    x: float
    name: str = ""
    beyond: str = ""


@dataclass(frozen=True)
class Level:
    """A dotted horizontal line at `y` with its name, such as a baseline that has no length."""

    y: float
    name: str = ""


@dataclass(frozen=True)
class Frame:
    """A plot area within a drawing; `right` px are kept for names beside it."""

    x: Axis
    y: Axis
    size: str = "half"
    height: int | None = None
    right: int = 0
    left: int | None = None

    @property
    def width(self) -> int:
        """Of the whole drawing, in px."""
        return SIZES[self.size][0]

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right and bottom of the plot area."""
        left = self.left or (WIDE_LEFT if self.size == "wide" else LEFT)
        height = self.height or SIZES[self.size][1]
        return left, TOP, self.width - RIGHT - self.right, height - BOTTOM

    def px(self, value: float) -> float:
        """The horizontal place of a value of `x`."""
        left, _, right, _ = self.box
        return left + self.x.place(value) * (right - left)

    def py(self, value: float) -> float:
        """The vertical place of a value of `y`."""
        _, top, _, bottom = self.box
        return bottom - self.y.place(value) * (bottom - top)

    def axes(
        self, marks: Sequence[Mark] = (), levels: Sequence[Level] = (), grid: bool = True
    ) -> Html:
        """Grid, ticks, labels, marks and levels: what lies under the data."""
        left, top, right, bottom = self.box
        parts: list[Html] = []
        for mark in marks:
            if mark.beyond and self.x.low <= mark.x <= self.x.high:
                x = self.px(mark.x)
                parts.append(_rect("beyond", x, top, right - x, bottom - top))
        for tick in self.y.ticks:
            y = self.py(tick)
            if grid:
                parts.append(_line("grid", left, y, right, y))
            parts.append(_text(self.y.text(tick), left - 7, y, "tick y"))
        parts.append(_line("axis", left, bottom, right, bottom))
        labelled = self._labelled()
        for tick in self.x.ticks:
            x = self.px(tick)
            parts.append(_line("axis", x, bottom, x, bottom + 4))
            if tick in labelled:
                spare = len(labelled) > FEW_TICKS and labelled.index(tick) % 2
                kind = "tick x spare" if spare else "tick x"
                parts.append(_text(self.x.text(tick), x, bottom + 16, kind))
        up = self.y.low < self.y.high
        arrow = "\N{UPWARDS ARROW}" if up else "\N{DOWNWARDS ARROW}"
        parts.append(_text(f"{arrow} {self.y.label}", 2, 12, "label y"))
        parts.append(_text(f"{self.x.label} \N{RIGHTWARDS ARROW}", right, bottom + 34, "label x"))
        for mark in marks:
            if self.x.low <= mark.x <= self.x.high:
                parts += self._mark(mark)
        for level in levels:
            y = self.py(level.y)
            parts.append(_line("level", left, y, right, y))
            if level.name:
                parts.append(_text(level.name, left + 6, y - 5, "level"))
        return tag("g", *parts, class_="under")

    def _labelled(self) -> list[float]:
        """The ticks of `x` whose labels have room beside the one before."""
        found: list[float] = []
        taken = -math.inf
        for tick in self.x.ticks:
            half = len(self.x.text(tick)) * CHARACTER / 2
            if self.px(tick) - half > taken:
                found.append(tick)
                taken = self.px(tick) + half + CHARACTER
        return found

    def _mark(self, mark: Mark) -> list[Html]:
        _, top, right, bottom = self.box
        x = self.px(mark.x)
        parts = [_line("mark", x, top, x, bottom), _text(mark.name, x - 5, top + 9, "mark before")]
        if mark.beyond and right - x > 80:
            parts.append(_text(f"{mark.beyond} \N{RIGHTWARDS ARROW}", x + 5, top + 9, "mark"))
        return parts

    def svg(self, *content: Html, label: str) -> Html:
        """The drawing. `label` is read out instead of it."""
        height = self.height or SIZES[self.size][1]
        shown = self.width / (self.width - self.right)
        drawing = tag(
            "svg", *content, viewBox=f"0 0 {self.width} {height}", role="img", tabindex=0,
            aria_label=label, class_=self.size, data_x=self.x.label, data_y=self.y.label,
        )  # fmt: skip
        # A phone cuts off the names beside the plot and widens the rest instead.
        return tag("div", drawing, class_=f"plot {self.size}", style=f"--shown:{shown:.3f}")


def figure(drawing: Html, title: str, caption: str, size: Size, key: Html | None = None) -> Html:
    """A drawing with its title above, a key of its own and the caption below."""
    return tag(
        "figure",
        tag("figcaption", title, class_="title") if title else None,
        drawing,
        key,
        tag("figcaption", caption, class_="caption") if caption else None,
        class_=f"chart {size}",
    )


def polyline(points: Sequence[tuple[float, float]], kind: str) -> Html:
    """A line through `points` in px."""
    return tag(
        "polyline", class_=kind, points=join(*(f"{x:.1f},{y:.1f}" for x, y in points), by=" ")
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Html:
    return tag("line", class_=kind, x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}")


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Html:
    return tag(
        "rect", class_=kind, x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}",
        height=f"{height:.1f}",
    )  # fmt: skip


def _text(text: str, x: float, y: float, kind: str) -> Html:
    return tag("text", text, class_=kind, x=f"{x:.1f}", y=f"{y:.1f}")
