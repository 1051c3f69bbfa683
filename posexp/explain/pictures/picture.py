"""What can be seen of a scheme: curves or a matrix, with a sentence computed from its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from posexp.catalogue.measure import Panel
from posexp.page import number


@dataclass(frozen=True)
class Curve:
    """y (N,) against x (N,), and a band from `low` to `high`; NaN where there is nothing."""

    name: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None


@dataclass(frozen=True)
class Picture:
    """Curves over the same axes, or matrices; `sentence` says what to see in them."""

    sentence: str
    curves: Sequence[Curve] = field(default_factory=tuple)
    panels: Sequence[Panel] = field(default_factory=tuple)


@dataclass(frozen=True)
class Absent:
    """Why a picture makes no sense for a scheme."""

    reason: str


def short(value: float) -> str:
    """A number of three significant digits, as a sentence says it."""
    return number(float(f"{value:.3g}"))
