"""The grid of optimizer settings, if a sweep had one: all of it, and what was chosen on val."""

from __future__ import annotations

from posexp import page
from posexp.report.row import SeedValue
from posexp.report.study import Candidate, Grid, Part


def grid(part: Part) -> list[page.Content]:
    """What was tried and chosen, with its cost; nothing where a sweep had no grid."""
    found = part.grid
    if found is None:
        return []
    cost = (
        f"The whole grid cost {found.jobs} jobs, {page.number(found.tokens)} tokens and "
        f"{found.seconds / 3600:.1f} hours of training, chosen or not."
    )
    kind = "note" if found.chosen_on_val else "warning"
    return [
        page.Note(found.reason, kind),
        cost,
        *_chart(found),
        page.Details(f"all {len(found.candidates)} points", _table(found)),
    ]


def _chart(found: Grid) -> list[page.Content]:
    """Validation loss against the one setting that was varied, where it is a positive number."""
    if len(found.names) != 1:
        return []
    name = found.names[0]
    lines: dict[str, list[tuple[float, Candidate]]] = {}
    for candidate in found.candidates:
        try:
            value = float(candidate.values[name])
        except (KeyError, ValueError):
            return []
        lines.setdefault(candidate.label, []).append((value, candidate))
    if any(value <= 0 for line in lines.values() for value, _ in line):
        return []
    series = []
    for label, line in lines.items():
        line.sort(key=lambda pair: pair[0])
        series.append(
            page.Series(
                label,
                [value for value, _ in line],
                [candidate.val for _, candidate in line],
                notes=["chosen" if candidate.chosen else "" for _, candidate in line],
                # The look of the row that the chosen point has become.
                key=next((c.setting for _, c in line if c.chosen and c.setting), None),
            )
        )
    return [
        page.LineChart(
            series, name, "validation loss, bits per byte", x_scale="log10", y_form=".3f",
            x_ticks=sorted({x for one in series for x in one.x}), size="wide",
            caption="A best point at an end of the grid: the best may lie outside it.",
        )
    ]  # fmt: skip


def _table(found: Grid) -> page.Table:
    columns = [
        page.Column("scheme", numeric=False),
        *(page.Column(name) for name in found.names),
        page.Column("loss on val"),
        page.Column("seeds", numeric=False, sortable=False),
        page.Column("chosen", numeric=False),
    ]
    rows = [
        [
            c.label,
            *(c.values.get(name) for name in found.names),
            None if c.val is None else page.Cell(f"{c.val:.4f}", value=c.val),
            ", ".join(_seed(s) for s in c.by_seed),
            page.Cell("chosen" if c.chosen else "", kind="best"),
        ]
        for c in found.candidates
    ]
    return page.Table(columns, rows)


def _seed(found: SeedValue) -> str:
    return found.status if found.value is None else f"{found.value:.4f}"
