"""Training curves: whether the comparison is of converged models or of how fast they learn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from posexp import page
from posexp.report.page.by_length import MOST_FAINT
from posexp.report.row import Row
from posexp.report.study import Part

Curve = tuple[tuple[int, float], ...]

NOTE = (
    "Mean over seeds, thin lines are single seeds. Lines that still fall at the end: the ranking "
    "is of speed of learning as much as of anything else."
)


def training_curves(part: Part) -> list[page.Content]:
    """The training loss and the validation loss against steps."""
    charts = [
        _chart(part, "train", "Training loss", "nats per token"),
        _chart(part, "val", "Validation loss", "bits per byte"),
    ]
    drawn = [chart for chart in charts if chart is not None]
    if not drawn:
        return ["No job has recorded a curve: metrics.csv is missing or empty."]
    return [NOTE, page.Grid(drawn)]


def _chart(part: Part, kind: str, title: str, unit: str) -> page.LineChart | None:
    curves = {row.label: [getattr(c, kind) for c in row.training] for row in part.rows}
    rows = [row for row in part.rows if any(curves[row.label])]
    if not rows:
        return None
    faint = sum(len(curves[row.label]) for row in rows) <= MOST_FAINT
    return page.LineChart(
        [_series(row, [c for c in curves[row.label] if c], faint) for row in rows],
        "step",
        unit,
        title=title,
        y_scale="log10",
        y_form=".3f",
    )


def _series(row: Row, curves: Sequence[Curve], faint: bool) -> page.Series:
    at: dict[int, list[float]] = defaultdict(list)
    for curve in curves:
        for step, value in curve:
            at[step].append(value)
    # Steps that some seeds lack would make the mean jump.
    steps = [step for step in sorted(at) if len(at[step]) == len(curves)]
    return page.Series(
        row.label,
        steps,
        [sum(at[step]) / len(at[step]) for step in steps],
        faint=[([s for s, _ in c], [v for _, v in c]) for c in curves]
        if faint and len(curves) > 1
        else (),
        points=len(steps) < 30,
    )
