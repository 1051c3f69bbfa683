"""How jobs ended: what failed and why, what is left, the results, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from posexp.sweep.jobs import Job, job_state, last_traceback

COMPLETED, FAILED, INTERRUPTED = 0, 1, 130


def finish(directory: Path, jobs: Sequence[Job]) -> int:
    """Tell what failed and what is left, show the results, and choose the exit code."""
    summary = failure_summary(jobs)
    if summary:
        print(summary, file=sys.stderr)
    code = exit_code(jobs)
    if code == INTERRUPTED:
        left = sum(not job.ended for job in jobs)
        print(
            f"posexp: interrupted with {left} of {len(jobs)} jobs not done; go on with the same "
            f"command, or: posexp sweep resume {directory}"
        )
        return code
    show_report(directory)
    return code


def failure_summary(jobs: Sequence[Job]) -> str:
    """For every failed job: its name, its error, its log and the traceback in it."""
    parts = []
    for job in jobs:
        status = job_state(job.directory)
        if status["status"] != "failed":
            continue
        traceback = last_traceback(job.log)
        parts.append(f"{job.name} failed: {status['error']}\n  log: {job.log}")
        if traceback:
            parts.append("\n".join(f"  {line}" for line in traceback.splitlines()))
    return "\n".join(parts)


def show_report(directory: Path) -> None:
    """Make and show the table and figures of `directory`."""
    from rich.console import Console

    from posexp.report import report

    try:
        report(directory, Console())
    except FileExistsError as error:  # a table that the user edited is no failure of the jobs
        print(f"posexp: no report: {error}", file=sys.stderr)


def exit_code(jobs: Sequence[Job]) -> int:
    """0, 1 if a job failed, 130 if one is left to do."""
    found = {job_state(job.directory)["status"] for job in jobs}
    if found & {"interrupted", "not started", "running"}:
        return INTERRUPTED
    return FAILED if "failed" in found else COMPLETED
