"""One sentence about a scheme: measured, and what it declares."""

from __future__ import annotations

import math
from dataclasses import dataclass

from posexp.page import number
from posexp.testing.compare import NOISE


@dataclass(frozen=True)
class Fact:
    """`measured` beside `declared`; `conflict` says why the two cannot both be true.

    `declared` is empty where the contract has no word for it.
    """

    measured: str
    declared: str = ""
    conflict: str = ""


def change(value: float) -> str:
    """A difference in words: nothing below what another order of computation would give."""
    return "unchanged" if value <= NOISE else f"changed by up to {number(value)}"


def off(value: float) -> str:
    """An error as a number of two digits; without bounds where other keys are seen."""
    if not math.isfinite(value):
        return "without bounds (other keys are seen)"
    if value == 0:
        return "by 0"
    return f"by {value:.1e}" if value < 1e-3 else f"by {number(value)}"
