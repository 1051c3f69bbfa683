"""A line of a chart: its numbers, and what is known of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from posexp.page.axis import Scale, can_hold

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

    @property
    def switch(self) -> str:
        """The name of the key that it belongs to."""
        return self.key or self.name

    @property
    def ending(self) -> str:
        """What stands beside the end of its line."""
        return f"{self.name} ({self.end})" if self.end else self.name

    @property
    def style(self) -> str | None:
        """The CSS of its place in an ordered ramp, if it has one."""
        if self.shade is None:
            return None
        return f"--c:color-mix(in oklab,var(--ramp1) {100 * self.shade:.0f}%,var(--ramp0))"

    def runs(self, x_scale: Scale, y_scale: Scale) -> list[list[int]]:
        """Indices of neighbours that can be drawn on axes of these scales."""
        good = [
            can_hold(x, x_scale) and can_hold(y, y_scale)
            for x, y in zip(self.x, self.y, strict=True)
        ]
        runs = itertools.groupby(range(len(good)), key=good.__getitem__)
        return [list(run) for drawable, run in runs if drawable]
