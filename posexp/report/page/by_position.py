"""The loss by position within one window of the longest length."""

from __future__ import annotations

from posexp import page
from posexp.report.page.by_length import MOST_FAINT, training_length
from posexp.report.row import PositionPoint, Row
from posexp.report.study import Part

CAPTION = (
    "One pass over windows of the longest length; mean loss of the positions of a bucket, drawn at "
    "its middle. Positions have different targets: read the shape, not small differences."
)


def loss_by_position(part: Part) -> list[page.Content]:
    """A line a setting over positions, counted from 1 as the axis is logarithmic."""
    rows = [row for row in part.rows if any(p.mean is not None for p in row.position)]
    if not rows:
        return ["No job has a loss by position: evaluation.curve_windows=0, or none is evaluated."]
    faint = sum(len(row.position[0].by_seed) for row in rows) <= MOST_FAINT
    chart = page.LineChart(
        [_series(row, faint) for row in rows],
        "position in the window (tokens)",
        "bits per byte",
        x_scale="log2",
        y_scale="log10",
        x_form=".0f",
        y_form=".3f",
        size="wide",
        marks=training_length(part),
        caption=CAPTION,
    )
    return [chart]


def _series(row: Row, faint: bool) -> page.Series:
    xs = [_middle(point) for point in row.position]
    seeds = len(row.position[0].by_seed)
    return page.Series(
        row.label,
        xs,
        [point.mean for point in row.position],
        faint=[(xs, [point.by_seed[i] for point in row.position]) for i in range(seeds)]
        if faint and seeds > 1
        else (),
        notes=[f"positions {p.first + 1} to {p.last + 1}" for p in row.position],
    )


def _middle(point: PositionPoint) -> float:
    """On a logarithmic axis, of positions counted from 1."""
    return ((point.first + 1) * (point.last + 1)) ** 0.5
