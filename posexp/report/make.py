"""From the directories of sweeps to a page, tables, results and figures."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from posexp.objective import NEXT_TOKEN
from posexp.report import figures, records, tables
from posexp.report.analyse import analyse, failures
from posexp.report.caption import caption
from posexp.report.comparison import Comparison, compare
from posexp.report.figures import FIGURES, METADATA
from posexp.report.files import check_own, write_report
from posexp.report.ngram import ngram_rows
from posexp.report.page import report_page
from posexp.report.study import Failure
from posexp.report.sweeps import read_sweeps
from posexp.report.table import BEYOND_NOTE, beyond_table, results_table

PAGE, LATEX, INTERVALS = "report.html", "report/table.tex", "report/intervals.csv"
POSSIBLE = [
    *("results.csv", PAGE, LATEX, INTERVALS),
    *(figures.file_name(f, k) for f in FIGURES for k in METADATA),
]


def make_report(
    directories: Sequence[Path],
    console: Console | None = None,
    baseline: str | None = None,
    out: Path | None = None,
) -> list[Path]:
    """What `posexp.report.report` does."""
    directories = [Path(directory) for directory in directories]
    console = console or Console()
    sweeps = read_sweeps(directories)
    out = _place(directories, out)
    check_own(out, POSSIBLE)  # before the work, not after it
    found = compare(sweeps.jobs, baseline)
    comparisons = [_with_ngram(out, directories, comparison) for comparison in found]
    study = analyse(directories, sweeps, comparisons)
    rows = records.all_records(comparisons)
    contents = {
        "results.csv": records.to_csv(rows).encode(),
        PAGE: report_page(study).encode(),
        INTERVALS: tables.to_csv(study).encode(),
        LATEX: tables.to_latex(study).encode(),
        **figures.draw(comparisons),
    }
    write_report(out, contents, records.to_json(comparisons, rows))
    for note in study.notes:
        console.print(note, markup=False, highlight=False)
    for comparison in comparisons:
        _show(comparison, console)
    written = [out / name for name in (*contents, "results.json")]
    console.print("\nWritten:")
    for path in written:
        console.print(f"  {path}", soft_wrap=True, markup=False, highlight=False)
    return written


def _place(directories: Sequence[Path], out: Path | None) -> Path:
    """Where the report goes: beside the only sweep, or to `out`."""
    if out is None:
        if len(directories) > 1:
            raise ValueError("a report of several directories needs a place of its own: --out DIR")
        return directories[0]
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file, not a directory")
    if len(directories) > 1 and out.resolve() in [path.resolve() for path in directories]:
        raise ValueError(
            f"--out {out} is one of the sweeps, and its own report would be replaced by that of "
            "all: choose another directory"
        )
    return out


def _with_ngram(out: Path, sweeps: Sequence[Path], comparison: Comparison) -> Comparison:
    job = comparison.evaluated
    # An n-gram predicts the next token: no other objective can be held against it.
    comparable = job is not None and job.objective == NEXT_TOKEN
    split = job.evaluation.get("split") if comparable else None
    rows = ngram_rows(out, comparison.jobs, split, sweeps) if split else {}
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
    for failure in failures(comparison):
        console.print(_explain(failure), soft_wrap=True, highlight=False)


def _print_whole(table: Table, console: Console) -> None:
    """Wider than the console rather than with digits cut off."""
    unlimited = console.options.update_width(10_000)
    table.width = Measurement.get(console, unlimited, table).maximum
    console.print(table, crop=False)


def _explain(failure: Failure) -> str:
    error = f": {escape(failure.error)}" if failure.error else ""
    where = f"\n  its log: {escape(str(failure.log))}" if failure.log else ""
    return f"[bold]{escape(failure.job)}[/] {failure.outcome}{error}{where}"
