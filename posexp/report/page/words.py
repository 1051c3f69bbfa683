"""How a report says numbers, lengths and what is missing, the same in every section."""

from __future__ import annotations

from posexp import page
from posexp.report.estimate import Estimate
from posexp.report.row import Cell, Row, SeedValue

# What stands where there is no number; anything else is said as it is.
ABSENT = {"undefined": "n/a", "memory": "n/a (memory)"}
# Said once beside the name of the setting, not in every cell.
SAID = ("not tested", "not started", "failed", "interrupted", "running")

INTERVAL_NOTE = (
    "± is half of a 95 % interval over seeds and text; "
    "± with “text” or “seeds” beside it covers that source of error only."
)


def times(length: int, t: int | None) -> str:
    """A length in training lengths, such as "T", "2 T" or "T/2"; as it is where T is unknown."""
    if not t:
        return str(length)
    if length == t:
        return "T"
    return f"T/{t // length}" if length < t and t % length == 0 else f"{length / t:g} T"


def length_name(length: int, t: int | None) -> str:
    """A length in training lengths and in tokens, such as "2 T = 256"."""
    return f"{times(length, t)} = {length}" if t else str(length)


def plus_minus(found: Estimate | None) -> str:
    """Half of the interval that there is, and what it covers if not both seeds and text."""
    if found is None or found.widest_known is None:
        return ""
    half = found.widest_known.half_width
    text = f"± {half:.3f}" if half >= 5e-4 else "± <0.001"
    if found.both:
        return text
    return f"{text} seeds" if found.over_seeds else f"{text} text"


def cell(found: Cell | None, form: str = ".3f") -> page.Cell:
    """A mean with its interval below, or why there is none."""
    if found is None:
        return page.Cell("", kind="muted")
    if found.estimate is None:
        return absent(found.status)
    mean = found.estimate.mean
    return page.Cell(page.number(mean, form), value=mean, note=plus_minus(found.estimate))


def seed_cell(found: SeedValue | None, form: str = ".3f") -> page.Cell:
    """One seed's number, or why there is none."""
    if found is None:
        return page.Cell("", kind="muted")
    if found.value is None:
        return absent(found.status)
    return page.Cell(page.number(found.value, form), value=found.value)


def absent(status: str) -> page.Cell:
    """The reason for a number that does not exist; it sorts behind all numbers."""
    if status in SAID:
        return page.Cell("", kind="muted")
    return page.Cell(ABSENT.get(status, status), kind="error" if status == "diverged" else "muted")


def seeds_of(row: Row) -> dict[str, str]:
    """Job -> seed of every job that a row has anything of."""
    cells = [c for found in (row.losses, row.recalled, row.gains) for c in found.values()]
    return {s.job: s.seed for c in cells for s in c.seeds} | {c.job: c.seed for c in row.training}
