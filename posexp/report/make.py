"""From a sweep's directory to its table, its results and its figures."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from posexp.objective import NEXT_TOKEN
from posexp.report import figures, records
from posexp.report.caption import caption
from posexp.report.comparison import Comparison, compare
from posexp.report.figures import FIGURES, METADATA
from posexp.report.files import check_own, write_report
from posexp.report.jobs import Job, read_jobs
from posexp.report.ngram import ngram_rows
from posexp.report.table import BEYOND_NOTE, beyond_table, results_table

POSSIBLE = ["results.csv", *(figures.file_name(f, k) for f in FIGURES for k in METADATA)]
WITHOUT_RESULT = ("failed", "interrupted", "running", "not started")


def make_report(directory: Path, console: Console | None = None) -> list[Path]:
    """What `posexp.report.report` does."""
    directory = Path(directory)
    console = console or Console()
    jobs = read_jobs(directory)
    check_own(directory, POSSIBLE)  # before the work, not after it
    comparisons = [_with_ngram(directory, c) for c in compare(jobs)]
    rows = records.all_records(comparisons)
    contents = {"results.csv": records.to_csv(rows).encode()}
    contents |= figures.draw(comparisons)
    write_report(directory, contents, records.to_json(comparisons, rows))
    for comparison in comparisons:
        _show(comparison, console)
    written = [directory / name for name in (*contents, "results.json")]
    console.print("\nWritten:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True, markup=False, highlight=False)
    return written


def _with_ngram(directory: Path, comparison: Comparison) -> Comparison:
    job = comparison.evaluated
    # An n-gram predicts the next token: no other objective can be held against it.
    comparable = job is not None and job.objective == NEXT_TOKEN
    split = job.evaluation.get("split") if comparable else None
    rows = ngram_rows(directory, comparison.jobs, split) if split else {}
    return dataclasses.replace(comparison, ngram=rows)


def _show(comparison: Comparison, console: Console) -> None:
    console.print()
    _print_whole(results_table(comparison), console)
    for line in caption(comparison):
        console.print(line, style="dim", markup=False, highlight=False)
    if table := beyond_table(comparison):
        console.print()
        _print_whole(table, console)
        console.print(BEYOND_NOTE, style="dim", highlight=False)
    console.print()
    for job in comparison.jobs:
        if job.status in WITHOUT_RESULT or job.error:
            console.print(_explain(job), soft_wrap=True, highlight=False)


def _print_whole(table: Table, console: Console) -> None:
    """Wider than the console rather than with digits cut off."""
    unlimited = console.options.update_width(10_000)
    table.width = Measurement.get(console, unlimited, table).maximum
    console.print(table, crop=False)


def _explain(job: Job) -> str:
    error = f": {escape(job.error)}" if job.error else ""
    log = job.path / "console.log"
    where = f"\n  its log: {escape(str(log))}" if log.is_file() else ""
    return f"[bold]{escape(job.name)}[/] {job.outcome}{error}{where}"
