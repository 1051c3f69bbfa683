"""What quality costs: speed, memory and parameters against the loss."""

from __future__ import annotations

from posexp import page
from posexp.report.page.words import plus_minus
from posexp.report.row import Cost, Row
from posexp.report.study import Part

LONG = 12  # characters of a name
KINDS = (
    ("tokens_per_second", "tokens per second of training", "Speed", "better: right and down"),
    ("memory_gib", "GiB at the peak of training", "Memory", "better: left and down"),
    ("scheme_parameters", "parameters of the scheme itself", "Parameters", ""),
)


def cost_and_quality(part: Part) -> list[page.Content]:
    """Scatter charts of the loss at T against each cost that was recorded and that differs."""
    t = part.context_length
    rows = [r for r in part.rows if t in r.losses and r.losses[t].estimate]
    charts = []
    for name, label, title, caption in KINDS:
        known = {getattr(row.cost, name) for row in rows} - {None}
        if len(known) > 1:
            charts.append(_chart(rows, t, name, label, title, caption))
    if not charts:
        return ["No cost was recorded that differs between the settings."]
    return [
        page.Grid(charts, columns=2 if charts[0].size == "half" else 3),
        "Speed and memory are those of the machine and the kernels that each run had; "
        "posexp bench measures them in turns.",
    ]


def _chart(
    rows: list[Row], t: int, name: str, label: str, title: str, caption: str
) -> page.Scatter:
    without = [row.label for row in rows if getattr(row.cost, name) is None]
    missing = f" Not recorded: {', '.join(without)}." if without else ""
    return page.Scatter(
        [_point(row, t, name) for row in rows],
        label,
        "bits per byte at T",
        title=title,
        caption=caption + missing,
        x_form=",.2f" if name == "memory_gib" else ",.0f",
        y_form=".3f",
        # Long names need the room.
        size="half" if max(len(row.label) for row in rows) > LONG else "small",
    )


def _point(row: Row, t: int, name: str) -> page.Point:
    estimate = row.losses[t].estimate
    interval = estimate.widest_known
    cost: Cost = row.cost
    return page.Point(
        row.label,
        getattr(cost, name),
        estimate.mean,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        note=plus_minus(estimate),
    )
