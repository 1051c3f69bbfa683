"""Estimates with their intervals, one below the other, against a line at zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from posexp.page.axis import Axis
from posexp.page.html import Html, tag
from posexp.page.looks import Looks, sample
from posexp.page.numbers import number


@dataclass(frozen=True)
class Estimate:
    """A number with its interval. `points` are the single values behind it (one a seed); `verdict`
    says in a few words what it means; `muted` draws it hollow: nothing is claimed."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    points: Sequence[float] = field(default_factory=tuple)
    verdict: str = ""
    muted: bool = False
    key: str | None = None


@dataclass(frozen=True)
class Intervals:
    """A row an estimate on one common axis, in the order given; zero is marked.

    A value None has an empty row whose verdict says why. `limits` cuts the axis: what reaches
    beyond it ends at the edge with an arrow, and its number is still written in the row.
    """

    estimates: Sequence[Estimate]
    label: str
    title: str = ""
    caption: str = ""
    form: str = "+.3f"
    limits: tuple[float, float] | None = None

    def html(self, looks: Looks) -> Html:
        values = [v for e in self.estimates for v in (e.value, e.low, e.high, *e.points)]
        axis = Axis.fit(self.label, [*values, 0.0], limits=self.limits)
        rows = [self._row(e, axis, looks) for e in self.estimates]
        ticks = [
            tag("text", number(t, "+g") if t else "0", x=_at(axis, t), y=14, class_="tick x")
            for t in axis.ticks[:: 1 if len(axis.ticks) <= 6 else 2]
        ]
        foot = tag(
            "div",
            tag("span"),
            tag("div", tag("svg", *ticks, aria_hidden="true"), class_="strip"),
            tag("span", f"{self.label} \N{RIGHTWARDS ARROW}", class_="label"),
            class_="estimate foot",
        )
        return tag(
            "figure",
            tag("figcaption", self.title, class_="title") if self.title else None,
            tag("div", *rows, foot, class_="estimates"),
            tag("figcaption", self.caption, class_="caption") if self.caption else None,
            class_="chart wide",
        )

    def _row(self, estimate: Estimate, axis: Axis, looks: Looks) -> Html:
        look = looks.get(estimate.key or estimate.name)
        zero = tag("line", x1=_at(axis, 0), x2=_at(axis, 0), y1=0, y2="100%", class_="zero")
        parts = [zero, *(self._grid(axis))]
        text = ""
        if estimate.value is not None:
            text = number(estimate.value, self.form)
            parts += [
                tag("circle", cx=_at(axis, p), cy="50%", r=1.8, class_="seed")
                for p in estimate.points
                if axis.low <= p <= axis.high
            ]
            if estimate.low is not None and estimate.high is not None:
                text += f" [{number(estimate.low, self.form)}, {number(estimate.high, self.form)}]"
                low, high = (
                    min(max(v, axis.low), axis.high) for v in (estimate.low, estimate.high)
                )
                parts.append(
                    tag(
                        "line",
                        x1=_at(axis, low),
                        x2=_at(axis, high),
                        y1="50%",
                        y2="50%",
                        class_="bar",
                    )
                )
            parts.append(self._dot(estimate, axis))
        name = tag("span", sample(look) if look else None, estimate.name, class_="who")
        words = tag("span", text, tag("small", estimate.verdict) if estimate.verdict else None)
        classes = f"s {look.classes}" if look else "s c0"
        return tag(
            "div",
            name,
            tag("div", tag("svg", *parts, class_=classes, aria_hidden="true"), class_="strip"),
            words,
            class_="estimate muted" if estimate.muted else "estimate",
            data_key=estimate.key or estimate.name,
        )

    def _grid(self, axis: Axis) -> list[Html]:
        return [
            tag("line", x1=_at(axis, t), x2=_at(axis, t), y1=0, y2="100%", class_="grid")
            for t in axis.ticks
            if t
        ]

    def _dot(self, estimate: Estimate, axis: Axis) -> Html:
        if axis.low <= estimate.value <= axis.high:
            return tag("circle", cx=_at(axis, estimate.value), cy="50%", r=4.5, class_="dot")
        beyond = estimate.value > axis.high
        arrow = (
            "\N{BLACK RIGHT-POINTING TRIANGLE}" if beyond else "\N{BLACK LEFT-POINTING TRIANGLE}"
        )
        return tag("text", arrow, x="100%" if beyond else "0%", y="50%", class_="arrow")


def _at(axis: Axis, value: float) -> str:
    """In per cent, so that a row can be as wide as its page."""
    return f"{100 * axis.place(value):.2f}%"
