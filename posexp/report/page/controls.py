"""What tells context use from mere survival: gain over the crop, foreign prefixes, and more."""

from __future__ import annotations

from collections.abc import Mapping

from posexp import page
from posexp.report.page.by_length import cell_series, thin
from posexp.report.page.words import times
from posexp.report.row import Cell, Row
from posexp.report.study import Part

GAIN = (
    "Against the crop to the last T tokens: the loss at T minus the loss here. Above zero the text "
    "beyond T helps."
)
CONTENT = (
    "Everything but the last T tokens replaced by another document: the loss then, minus the loss "
    "with the real text. Above zero the model reads that text; zero: it does not matter what is "
    "there."
)
DAMAGE = (
    "The loss with the foreign prefix minus the loss at T: what positions beyond T cost, whatever "
    "they hold."
)
LITERATURE = (
    "Non-overlapping windows score targets with little context too, so a longer window lowers that "
    "loss even where nothing is gained. Never ranked here."
)


def controls(part: Part) -> list[page.Content]:
    """Three charts over the lengths beyond T, and the figures as the literature reports them."""
    t = part.context_length
    beyond = [n for n in part.lengths if t and n > t]
    if not beyond:
        return ["Nothing was tested beyond T, so there is nothing to control for."]
    charts = [
        _chart(part, beyond, "Gain over the crop", GAIN, {r.label: r.gains for r in part.rows}),
        _chart(
            part, beyond, "Use of far content", CONTENT, {r.label: r.content for r in part.rows}
        ),
        _chart(
            part, beyond, "Damage by unseen positions", DAMAGE,
            {r.label: r.damage for r in part.rows},
        ),
    ]  # fmt: skip
    drawn = [chart for chart in charts if chart is not None]
    if not drawn:
        return ["No job has a loss beyond T."]
    without = [] if charts[1] else ["No foreign prefix was evaluated."]
    return [page.Grid(drawn, columns=3), *without, *_literature(part)]


def _chart(
    part: Part,
    lengths: list[int],
    title: str,
    caption: str,
    cells: Mapping[str, Mapping[int, Cell]],
) -> page.LineChart | None:
    rows = [r for r in part.rows if any(c.estimate for c in cells[r.label].values())]
    if not rows:
        return None
    return page.LineChart(
        [cell_series(row, dict(cells[row.label]), lengths, thin(rows)) for row in rows],
        "context length (tokens)",
        "bits per byte",
        title=title,
        caption=caption,
        x_scale="log2",
        x_ticks=lengths,
        y_form="+.3f",
        levels=[page.Level(0.0)],
        size="small",
    )


def _literature(part: Part) -> list[page.Content]:
    rows = [row for row in part.rows if row.literature]
    if not rows:
        return []
    lengths = sorted({n for row in rows for n in row.literature})
    kinds = (("non-overlapping", "non_overlapping"), ("sliding", "sliding"))
    columns = [page.Column("setting", numeric=False)] + [
        page.Column(f"{times(n, part.context_length)}\n{n}", group=f"{name}, bits per byte")
        for name, _ in kinds
        for n in lengths
    ]
    table = page.Table(
        columns,
        [
            page.Row(_literature_cells(row, lengths, [k for _, k in kinds]), key=row.label)
            for row in rows
        ],
        caption=LITERATURE,
    )
    return [page.Details("Losses as the literature reports them", table)]


def _literature_cells(
    row: Row, lengths: list[int], kinds: list[str]
) -> list[page.Cell | str | None]:
    values = [row.literature.get(n, {}).get(kind) for kind in kinds for n in lengths]
    return [row.label, *(None if v is None else page.Cell(f"{v:.3f}", value=v) for v in values)]
