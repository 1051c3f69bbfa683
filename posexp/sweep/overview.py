"""How a sweep stands, from its directory alone."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from posexp.sweep.jobs import Job, job_state
from posexp.sweep.locks import sweep_is_running
from posexp.sweep.progress import read_progress
from posexp.sweep.record import read_sweep
from posexp.sweep.units import duration

STYLE = {
    **{"completed": "green", "running": "yellow", "failed": "red", "diverged": "magenta"},
    **{"interrupted": "cyan", "queued": "dim", "not started": "dim"},
}


def look(directory: Path) -> dict[str, Any]:
    """Every job of a sweep, or of a single run, as plain values.

    Raises `DirectoryInUseError` if `directory` is neither.
    """
    jobs = read_sweep(directory)
    running = sweep_is_running(directory)
    rows = [_row(job, running) for job in jobs]
    return {
        "directory": str(directory),
        "running": running or any(row["state"] == "running" for row in rows),
        "states": dict(Counter(row["state"] for row in rows)),
        "jobs": rows,
    }


def print_overview(overview: dict[str, Any], console: Console | None = None) -> None:
    """The table of `look`, and each cause in full below it."""
    console = console or Console()
    table = Table(box=None, pad_edge=False)
    for heading in ("job", "state", "step", "", "loss", "time", "attempts"):
        is_text = heading in ("job", "state")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=heading == "job")
    for row in overview["jobs"]:
        state = row["state"]
        table.add_row(
            escape(row["job"]),
            f"[{STYLE.get(state, 'default')}]{state}[/]",
            f"{row['step']}/{row['steps']}" if row["attempts"] else "",
            f"{row['percent']:.0f} %" if row["attempts"] else "",
            "" if row["loss"] is None else f"{row['loss']:.3f}",
            "" if row["seconds"] is None else duration(row["seconds"]),
            str(row["attempts"] or ""),
        )
    console.print(table)
    for row in overview["jobs"]:
        if row["last_sign"] is not None:
            ago = duration(row["last_sign"])
            console.print(f"{row['job']} runs on {row['host']}, last sign {ago} ago", **_PLAIN)
        if row["cause"]:
            console.print(f"{row['job']} {row['state']}: {row['cause']}", **_PLAIN)
            console.print(f"  log: {row['log']}", **_PLAIN)
    counts = ", ".join(f"{count} {state}" for state, count in overview["states"].items())
    console.print(counts, **_PLAIN)
    left = {"interrupted", "not started", "failed"} & overview["states"].keys()
    if left and not overview["running"]:
        console.print(f"go on: posexp sweep resume {overview['directory']}", **_PLAIN)


_PLAIN: dict[str, Any] = {"markup": False, "highlight": False, "soft_wrap": True}


def _row(job: Job, running: bool) -> dict[str, Any]:
    status = job_state(job.directory, running)
    progress = read_progress(job, status)
    state = status["status"]
    return {
        "job": job.name,
        "state": state,
        "step": progress.step,
        "steps": progress.steps,
        "percent": round(100 * progress.share, 1),
        "loss": progress.loss,
        "seconds": _seconds(status) if state == "running" else status["seconds"],
        # A job of an older posexp did not count them.
        "attempts": status.get("attempts", 0 if state in ("queued", "not started") else 1),
        "cause": status["error"],
        "returncode": status["returncode"],
        "started": status.get("started"),
        "ended": status.get("ended"),
        "host": status.get("host"),
        "last_sign": status["last_sign"],
        "log": str(job.log),
        "config_hash": status.get("config_hash"),
        "plugins": status.get("plugins"),
    }


def _seconds(status: dict[str, Any]) -> float | None:
    if not status.get("started"):
        return None
    passed = datetime.now(UTC) - datetime.fromisoformat(status["started"])
    return round(passed.total_seconds(), 2)
