"""Axes: where a value lies between 0 and 1, and which values get a tick."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from posexp.page.numbers import number

Scale = Literal["linear", "log2", "log10"]

# Steps within a decade, from many ticks to few: the first that gives at most MOST_TICKS is used.
DECADE = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,))
MOST_TICKS = 8
NONE_LEFT = "an axis needs at least one finite value"


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high` with `ticks`, labelled by `names` or by themselves."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    scale: Scale = "linear"
    names: Mapping[float, str] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        label: str,
        values: Iterable[float | None],
        *,
        scale: Scale = "linear",
        ticks: Sequence[float] | None = None,
        limits: tuple[float, float] | None = None,
        room: float = 0.04,
    ) -> Axis:
        """The axis that holds `values` and a share of `room` on both sides, or just `limits`.

        On a logarithmic scale values <= 0 are left out. Raises `ValueError` without any value.
        """
        kept = [v for v in values if can_hold(v, scale)]
        if limits is None and not kept:
            raise ValueError(f"{NONE_LEFT}: {label!r}")
        low, high = limits or (min(kept), max(kept))
        if limits is None:
            a, b = _forward(low, scale), _forward(high, scale)
            margin = room * (b - a) or 0.5 * (abs(a) or 1.0) * room
            low, high = _back(a - margin, scale), _back(b + margin, scale)
        if ticks is None:
            ticks = _ticks(low, high, scale)
        return cls(label, low, high, [t for t in ticks if low <= t <= high], scale)

    def place(self, value: float) -> float:
        """0 at `low`, 1 at `high`; values outside lie outside."""
        a, b = _forward(self.low, self.scale), _forward(self.high, self.scale)
        return (_forward(value, self.scale) - a) / (b - a)

    def holds(self, value: float | None) -> bool:
        """Whether `value` is a number that the scale can place."""
        return can_hold(value, self.scale)

    def text(self, value: float) -> str:
        """`value` as a tick says it."""
        return self.names.get(value) or number(value)


def can_hold(value: float | None, scale: Scale) -> bool:
    """Whether `value` is a number that `scale` can place: above zero where it is logarithmic."""
    return value is not None and math.isfinite(value) and (scale == "linear" or value > 0)


def _forward(value: float, scale: Scale) -> float:
    return value if scale == "linear" else math.log(value)


def _back(value: float, scale: Scale) -> float:
    return value if scale == "linear" else math.exp(value)


def _ticks(low: float, high: float, scale: Scale) -> list[float]:
    if scale == "log2":
        first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
        step = -(-(last - first + 1) // (MOST_TICKS + 3)) or 1
        if last - first >= 2:
            return [2.0**k for k in range(first, last + 1, step)]
    if scale != "linear":
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for steps in DECADE:
            found = [s * 10.0**k for k in decades for s in steps if low <= s * 10.0**k <= high]
            if len(found) <= MOST_TICKS and (len(found) > 1 or steps != DECADE[0]):
                break
        if len(found) > 1:
            return found
    return _linear_ticks(low, high)


def _linear_ticks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, at most MOST_TICKS of them."""
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / MOST_TICKS))
    step = next(s * power for s in (1, 2, 5, 10, 20) if span / (s * power) <= MOST_TICKS - 1)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Rounded, so that 3 * 0.1 is printed as 0.3.
    return [round(k * step, 12) for k in range(first, last + 1)]
