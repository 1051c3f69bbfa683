"""`--plan`: every job with what it is and what it may cost, and nothing run or written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from posexp.sweep.estimate import estimate_bytes, estimate_seconds, measure_rate
from posexp.sweep.jobs import Job
from posexp.sweep.units import duration, size


def print_plan(
    jobs: Sequence[Job], plans: Sequence[Any], directory: Path, console: Console | None = None
) -> None:
    """Print one row a job; `plans` are what `posexp.job.check_job` found for each."""
    console = console or Console()
    table = Table(title=f"{len(jobs)} jobs, not run", title_justify="left")
    for heading in ("job", "parameters", "scheme's", "kernels", "time", "disk"):
        is_text = heading in ("job", "kernels")
        # A job's name is its directory: never shortened.
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=heading == "job")
    rates: dict[Any, float] = {}
    seconds = disk = 0.0
    for job, plan in zip(jobs, plans, strict=True):
        rate = _rate(job, rates)
        time = estimate_seconds(job.config, plan.parameters, rate)
        kept = job.config["trainer"].get("keep_checkpoints", 1)
        space = estimate_bytes(plan.checkpoint_bytes, kept)
        seconds, disk = seconds + time, disk + space
        kernels = ", ".join(dict.fromkeys(plan.kernels))
        counts = (f"{plan.parameters:,}", f"{plan.scheme_parameters:,}")
        table.add_row(job.name, *counts, kernels, duration(time), size(space))
    console.print(table)
    console.print(
        f"In all about {duration(seconds)}, one job after the other, and {size(disk)}. Times are "
        "estimates for an idle machine, good to a factor of two: a formula, and one matrix "
        "product measured now.",
        highlight=False,
    )
    console.print(f"Results would go to {directory}", highlight=False, soft_wrap=True)


def _rate(job: Job, known: dict[Any, float]) -> float:
    trainer = job.config["trainer"]
    shape = (job.config["model"]["d_model"], *(trainer[k] for k in sorted(trainer)))
    key = repr(shape)
    if key not in known:
        known[key] = measure_rate(job.config)
    return known[key]
