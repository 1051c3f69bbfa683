"""What a sweep showed: one table, results.csv, results.json and figures, from its directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["report"]


def report(directory: Path, console: Console | None = None) -> list[Path]:
    """Read the jobs under `directory`, print their table and write results and figures there.

    Works at any time: on a sweep that is still running, or of which jobs failed. Returns what it
    wrote: results.csv, results.json and report/loss_by_*.png|pdf; the figures only where there is
    something to draw. Raises `ValueError` where there is no job, `FileExistsError` where one of
    these files is not the report's own.
    """
    # Here, so that reading JSON strictly does not wait for matplotlib.
    from posexp.report.make import make_report

    return make_report(directory, console)
