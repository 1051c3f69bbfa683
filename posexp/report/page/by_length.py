"""The headline figure: the loss of every setting at every length."""

from __future__ import annotations

from collections.abc import Sequence

from posexp import page
from posexp.report.page.words import ABSENT, plus_minus
from posexp.report.row import Cell, Row
from posexp.report.study import Part

# More thin lines than this in one chart are a fog; the bands still show the seeds.
MOST_FAINT = 150
# From this ratio of the largest to the smallest loss on, a linear axis presses the rest flat.
WIDE_RATIO = 2.5

CAPTION = (
    "Anchored loss: the same target bytes at every length, with only the context before them "
    "growing. Falling: longer context is used. Flat: it is ignored. Rising: it breaks the model. "
    "Bands reach from the lowest to the highest seed, thin lines are single seeds; pointing at the "
    "chart gives the 95 % interval."
)


def loss_by_length(part: Part) -> list[page.Content]:
    """Linear and logarithmic views of the loss against the length, or why there is none."""
    rows = [row for row in part.rows if any(c.estimate for c in row.losses.values())]
    if not rows:
        return ["No job has a loss yet."]
    lines = [cell_series(row, row.losses, part.lengths, thin(rows)) for row in rows]
    means = [c.estimate.mean for row in rows for c in row.losses.values() if c.estimate]
    ngram = max(part.ngram.items(), default=None)
    levels = [page.Level(ngram[1], f"{ngram[0].replace('_', '-')} n-gram")] if ngram else []

    def chart(scale: str) -> page.LineChart:
        return page.LineChart(
            lines, "context length (tokens)", "bits per byte, lower is better",
            x_scale="log2", y_scale=scale, x_ticks=part.lengths, y_form=".3f",
            size="wide", marks=training_length(part), levels=levels, caption=CAPTION,
        )  # fmt: skip

    views = {"linear": chart("linear"), "logarithmic": chart("log10")}
    if min(means) > 0 and max(means) / min(means) > WIDE_RATIO:
        views = dict(reversed(views.items()))
    missing = [row.label for row in part.rows if row not in rows]
    note = [f"Without a line, as they have no loss: {', '.join(missing)}."] if missing else []
    if len(rows) > page.Page.shown:
        note.append(
            f"The {page.Page.shown} best at T are drawn at first, here and below; the key "
            "switches others on and off, and a double click leaves one alone."
        )
    return [page.Views(views, alike=True), *note]


def cell_series(
    row: Row, cells: dict[int, Cell], lengths: Sequence[int], faint: bool
) -> page.Series:
    """A line a setting over lengths: the mean, the range of its seeds, and each of them."""
    cells = {n: cells[n] for n in lengths if n in cells}
    xs = list(cells)
    means = [c.estimate.mean if c.estimate else None for c in cells.values()]
    seeds = [
        [s.value for s in c.seeds if s.value is not None] if c.estimate else []
        for c in cells.values()
    ]
    several = any(len(values) > 1 for values in seeds)
    jobs = dict.fromkeys(s.job for c in cells.values() for s in c.seeds)
    by_job = [{s.job: s.value for s in c.seeds} for c in cells.values()]
    return page.Series(
        row.label,
        xs,
        means,
        low=[min(values, default=None) for values in seeds] if several else None,
        high=[max(values, default=None) for values in seeds] if several else None,
        faint=[(xs, [found.get(job) for found in by_job]) for job in jobs]
        if several and faint
        else (),
        notes=[_note(c) for c in cells.values()],
        end=_end(cells, means),
    )


def thin(rows: Sequence[Row]) -> bool:
    """Whether a chart of `rows` has room for a thin line a seed."""
    return sum(max((len(c.seeds) for c in row.losses.values()), default=1) for row in rows) <= (
        MOST_FAINT
    )


def training_length(part: Part) -> list[page.Mark]:
    """The rule at T."""
    t = part.context_length
    return [page.Mark(t, f"T = {t}", beyond="beyond training")] if t else []


def _note(found: Cell) -> str:
    if found.estimate is None:
        return ""
    seeds = f"{found.estimate.seeds} seeds" if found.estimate.seeds > 1 else "one seed"
    return ", ".join(filter(None, [plus_minus(found.estimate), seeds]))


def _end(cells: dict[int, Cell], means: Sequence[float | None]) -> str:
    """Why a line ends before the longest length."""
    for found, mean in zip(reversed(cells.values()), reversed(means), strict=True):
        if mean is not None:
            return ""
        if reason := ABSENT.get(found.status, found.status):
            return reason
    return ""
