"""The main table: a row a setting, its seeds below it."""

from __future__ import annotations

from posexp import page
from posexp.report.estimate import BASELINE, BETTER, WORSE
from posexp.report.page.words import (
    INTERVAL_NOTE,
    absent,
    cell,
    plus_minus,
    seed_cell,
    seeds_of,
    times,
)
from posexp.report.row import Cell, Recalled, Row, SeedValue
from posexp.report.study import Part

CAPTION = (
    "Loss in bits per byte on the same targets at every length, mean over seeds. {interval} "
    "Minus baseline: paired on the same targets and seeds, so its interval is narrower than those "
    "of the losses suggest. Gain: the loss at T minus the loss at the longest length; positive: "
    "longer context is used, about 0: ignored, negative: broken. Titles sort."
)


def main_table(part: Part) -> list[page.Content]:
    """The table, and the rows that counting reaches."""
    if not part.rows:
        return ["No job has been planned."]
    t, lengths = part.context_length, shown_lengths(part)
    gains = [n for n in part.lengths[-1:] if t and n > t]
    tasks = sorted({(n, r.task) for row in part.rows for n, r in row.recalled.items()})
    tasks = [(n, task) for n, task in tasks if n in (t, max(n for n, _ in tasks))]
    columns = [
        page.Column("setting", numeric=False),
        page.Column("rank", help="by the loss at T; equal losses share a rank"),
        page.Column("seeds", help="seeds with a loss at T, of those that were planned"),
        *(page.Column(f"{times(n, t)}\n{n}", group="loss, bits per byte") for n in lengths),
        *(page.Column(f"gain to\n{times(n, t)}", help="loss at T minus loss here") for n in gains),
        page.Column(
            f"minus {_short(part.baseline)}\nat T", help="paired difference to the baseline"
        ),
        *(page.Column(f"{task}\n{times(n, t)}", group="accuracy") for n, task in tasks),
        page.Column("tokens/s", group="cost", help="of training"),
        page.Column("GiB", group="cost", help="peak memory of training"),
        page.Column("parameters", group="cost"),
    ]
    rows = [_row(row, part, lengths, gains, tasks) for row in part.rows]
    counted = [f"{v:.3f} (order {k.split('_')[-1]})" for k, v in part.ngram.items()]
    ngram = f" N-gram models, counted on the train split, reach {', '.join(counted)}."
    caption = CAPTION.format(interval=INTERVAL_NOTE) + (ngram if counted else "")
    kept = [i for i in range(len(columns)) if i == 0 or any(_says(row.cells[i]) for row in rows)]
    return [
        page.Table([columns[i] for i in kept], [_only(row, kept) for row in rows], caption=caption)
    ]


def _says(cell: page.Cell | None) -> bool:
    return cell is not None and bool(cell.text or cell.note)


def _only(row: page.Row, kept: list[int]) -> page.Row:
    """A row without the columns in which no setting has anything."""
    return page.Row(
        [row.cells[i] for i in kept], [_only(child, kept) for child in row.children], row.key
    )


def shown_lengths(part: Part) -> list[int]:
    """T and its doublings; every length where T is unknown."""
    t = part.context_length
    return [n for n in part.lengths if not t or n >= t]


def _row(
    row: Row, part: Part, lengths: list[int], gains: list[int], tasks: list[tuple[int, str]]
) -> page.Row:
    t = part.context_length
    at_t = row.losses.get(t) if t else None
    with_loss = sum(s.value is not None for s in at_t.seeds) if at_t else 0
    planned = len(at_t.seeds) if at_t else len(seeds_of(row))
    cost = row.cost
    cells = [
        page.Cell(row.label, note="" if row.outcome == "completed" else row.outcome),
        page.Cell(str(row.rank), value=row.rank) if row.rank else absent(""),
        page.Cell(str(planned) if with_loss == planned else f"{with_loss} of {planned}", with_loss),
        *(cell(row.losses.get(n)) for n in lengths),
        *(cell(row.gains.get(n), "+.3f") for n in gains),
        _contrast(row, t),
        *(_recalled(row.recalled.get(n), task) for n, task in tasks),
        page.Cell(f"{cost.tokens_per_second:,.0f}", cost.tokens_per_second)
        if cost.tokens_per_second
        else absent(""),
        page.Cell(f"{cost.memory_gib:.2f}", cost.memory_gib) if cost.memory_gib else absent(""),
        page.Cell(f"{cost.parameters:,}", cost.parameters) if cost.parameters else absent(""),
    ]
    jobs = seeds_of(row)
    seeds = [_seed(row, job, seed, lengths, gains, tasks, t) for job, seed in jobs.items()]
    # A single seed is the row itself.
    return page.Row(cells, children=seeds if len(seeds) > 1 else (), key=row.label)


def _contrast(row: Row, t: int | None) -> page.Cell:
    found = row.contrasts.get(t) if t else None
    if found is None:
        return absent("")
    if found.verdict == BASELINE:
        return page.Cell("baseline", value=0.0, kind="muted")
    if found.estimate is None:
        return page.Cell("", note=found.words, kind="muted")
    mean = found.estimate.mean
    short = found.verdict in (BETTER, WORSE)
    note = (" " if short else "\n").join(filter(None, [plus_minus(found.estimate), found.verdict]))
    kind = "" if short else "muted"
    return page.Cell(page.number(mean, "+.3f"), value=mean, note=note, kind=kind)


def _recalled(found: Recalled | None, task: str) -> page.Cell:
    if found is None or found.task != task:
        return absent("")
    if found.mean is None:
        return absent(next((s.status for s in found.seeds), ""))
    known = found.low is not None and found.high is not None
    note = f"{found.low:.2f} to {found.high:.2f}" if known else ""
    return page.Cell(f"{found.mean:.2f}", value=found.mean, note=note)


def _seed(
    row: Row,
    job: str,
    seed: str,
    lengths: list[int],
    gains: list[int],
    tasks: list[tuple[int, str]],
    t: int | None,
) -> page.Row:
    def of(found: Cell | Recalled | None) -> SeedValue | None:
        return next((s for s in found.seeds if s.job == job), None) if found else None

    contrast = row.contrasts.get(t) if t else None
    difference = dict(contrast.by_seed).get(seed) if contrast else None
    return page.Row(
        [
            page.Cell(f"seed {seed}" if seed else job),
            None,
            None,
            *(seed_cell(of(row.losses.get(n))) for n in lengths),
            *(seed_cell(of(row.gains.get(n)), "+.3f") for n in gains),
            None if difference is None else page.Cell(page.number(difference, "+.3f"), difference),
            *(seed_cell(of(row.recalled.get(n)), ".2f") for n, _ in tasks),
            None,
            None,
            None,
        ]
    )


def _short(label: str | None) -> str:
    """A baseline's name, short enough for a column title."""
    if label is None:
        return "baseline"
    return label if len(label) <= 14 else "baseline"
