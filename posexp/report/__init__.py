"""What sweeps showed: a page, tables, results.csv, results.json and figures, from directories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["report"]


def report(
    directories: Path | Sequence[Path],
    console: Console | None = None,
    *,
    baseline: str | None = None,
    out: Path | None = None,
) -> list[Path]:
    """Read the jobs under `directories`, print their tables and write everything to `out`.

    Works at any time: on a sweep that is still running, or of which jobs failed. `baseline` is the
    setting that every other is compared with: its label or its scheme, the best at T by default.
    `out` is the sweep's own directory by default, and must be given for several.

    Returns what it wrote: report.html, results.csv, results.json, report/intervals.csv,
    report/table.tex and report/loss_by_*.png|pdf; the figures only where there is something to
    draw. Raises `ValueError` where there is no job, no such baseline, or no `out` for several
    directories, and `FileExistsError` where one of these files is not the report's own.
    """
    # Here, so that reading JSON strictly does not wait for matplotlib.
    from posexp.report.make import make_report

    return make_report(
        [directories] if isinstance(directories, Path) else directories, console, baseline, out
    )
