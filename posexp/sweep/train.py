"""The verb `train`: compose, check, then run one job, a sweep, or what is left of either."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from hydra._internal.hydra import Hydra
from hydra.core.override_parser.overrides_parser import OverridesParser

from posexp.composition import (
    ComposedJob,
    ConfigurationError,
    compose_run,
    compose_sweep,
    hydra_session,
)
from posexp.composition.compose import CONFIG_NAME
from posexp.composition.store import registries
from posexp.files import read_json
from posexp.local import only
from posexp.registry import PluginError
from posexp.sweep.console import kept
from posexp.sweep.directory import (
    claim_job,
    claim_sweep,
    read_sweep,
    refuse_existing,
    sweep_plugins,
)
from posexp.sweep.jobs import ENDED, Job, read_status
from posexp.sweep.launcher import SweepTask
from posexp.sweep.plan import print_plan
from posexp.sweep.process import lock
from posexp.sweep.run import JobRunner, failure_summary
from posexp.training.plugins import check_plugins, copies, recorded_plugins

COMPLETED, FAILED, INTERRUPTED = 0, 1, 130


def train(overrides: Sequence[str], multirun: bool = False, plan: bool = False) -> int:
    """Run `posexp train`; the exit code is 0, 1 if a job failed, or 130 after Ctrl-C.

    Raises `ConfigurationError`, `ValueError` or `PluginError` before anything is written if any
    job cannot be composed or is not legal.
    """
    # A single run trains in this process: denormals make float32 ALiBi several times slower, and
    # once the checks below have started torch's threads it is too late.
    torch.set_flush_denormal(True)
    with hydra_session() as hydra:
        _note_broken_plugins()
        multirun = multirun or _asks_for_multirun(hydra, overrides)
        if multirun:
            sweep = compose_sweep(hydra, overrides)
            directory, composed = sweep.directory, sweep.jobs
        else:
            composed = [compose_run(hydra, overrides)]
            directory = composed[0].directory
        jobs, plans = _prepare(composed)
        if plan:
            print_plan(jobs, plans, directory)
            return COMPLETED
        refuse_existing(directory)
        if not multirun:
            return _train_one(hydra, overrides, jobs[0])
        for job in jobs:
            if job.config["tracking"].get("group", "csv") is None:
                job.config["tracking"]["group"] = directory.name
        claim_sweep(directory, jobs, ["posexp", "train", "-m", *overrides])
        pinned = _pin(overrides, "hydra.sweep.dir", directory)
        # Whatever starts the jobs, later edits of a plugin file do not reach them.
        with only(copies(directory)):
            hydra.multirun(CONFIG_NAME, SweepTask(jobs), pinned, with_log_configuration=False)
    return _finish(directory, jobs)


def resume(directory: Path) -> int:
    """Go on with every job of `directory` that has not ended, with the settings it has.

    Raises `ValueError` if `directory` holds neither a sweep nor a job, and `PluginError`, before
    any job starts, if a plugin is gone, is another one, or a copy of one was altered.
    """
    torch.set_flush_denormal(True)
    directory = directory.absolute()
    jobs = read_sweep(directory)
    left = [job for job in jobs if read_status(job.directory)["status"] not in ENDED]
    print(f"posexp: {len(jobs) - len(left)} of {len(jobs)} jobs have ended; {len(left)} to go on")
    for job in left:
        _check_job_plugins(job)
    if jobs[0].directory == directory:
        return _shown(jobs[0], _run_here(jobs[0])) if left else COMPLETED
    if left:
        record = sweep_plugins(directory)
        with only(copies(directory, record["files"])):
            for change in check_plugins(record):
                print(f"warning: {change}", file=sys.stderr)
            JobRunner(len(left), resume=True).run(left)
    return _finish(directory, jobs)


def _check_job_plugins(job: Job) -> None:
    """Refuse now, and in one line, what the job itself would refuse; it tells of changes itself."""
    provenance = read_json(job.directory / "provenance.json")
    record = None if provenance is None else recorded_plugins(provenance)
    with only(copies(job.directory, record and record["files"])):
        if record is not None:
            check_plugins(record)


def _asks_for_multirun(hydra: Hydra, overrides: Sequence[str]) -> bool:
    """Whether a config file or an override says `hydra.mode: MULTIRUN`."""
    return str(hydra.get_mode(CONFIG_NAME, list(overrides))).endswith("MULTIRUN")


def _prepare(composed: Sequence[ComposedJob]) -> tuple[list[Job], list[Any]]:
    """Every job with the machine's settings resolved, and what the check found out about it."""
    from posexp.job import check_job, resolve_machine

    jobs, plans = [], []
    for number, one in enumerate(composed):
        try:
            job = Job(one.directory, resolve_machine(one.config), one.overrides, one.environment)
            plans.append(check_job(job.config))
        except (ValueError, PluginError) as error:
            if len(composed) == 1:
                raise
            named = " ".join(one.overrides)
            raise ConfigurationError(f"job {number} ({named}): {error}") from error
        jobs.append(job)
    return jobs, plans


def _train_one(hydra: Hydra, overrides: Sequence[str], job: Job) -> int:
    ended: list[int | Exception] = []

    def task(_: Any) -> None:
        # Hydra would print its own words about an exception before passing it on.
        try:
            claim_job(job)
            ended.append(_run_here(job))
        except Exception as error:
            ended.append(error)

    pinned = _pin(overrides, "hydra.run.dir", job.directory)
    hydra.run(CONFIG_NAME, task, pinned, with_log_configuration=False)
    if isinstance(ended[0], Exception):
        raise ended[0]
    return _shown(job, ended[0])


def _run_here(job: Job) -> int:
    """Run one job in this process, or in one process for each of its devices."""
    if job.devices > 1:
        runner = JobRunner(1, resume=True)
        runner.run([job])
        return _exit_code([job])
    from posexp.job import main

    with job.log.open("ab") as log:
        lock(log, job)
        with kept(log):
            # It goes on where a provenance.json says that it began.
            return main([str(job.directory)])


def _finish(directory: Path, jobs: Sequence[Job]) -> int:
    """Tell what failed and what is left, show the results, and choose the exit code."""
    summary = failure_summary(jobs)
    if summary:
        print(summary, file=sys.stderr)
    code = _exit_code(jobs)
    if code == INTERRUPTED:
        left = sum(read_status(job.directory)["status"] not in ENDED for job in jobs)
        print(
            f"posexp: interrupted with {left} of {len(jobs)} jobs not done; go on with: "
            f"posexp train --resume {directory}"
        )
        return code
    _report(directory)
    return code


def _shown(job: Job, code: int) -> int:
    """The exit code of a run that is its own job, after its results or where its log is."""
    if code == COMPLETED:
        _report(job.directory)
    else:
        print(f"posexp: the job's log is {job.log}", file=sys.stderr)
    return code


def _report(directory: Path) -> None:
    from rich.console import Console

    from posexp.report import report

    try:
        report(directory, Console())
    except FileExistsError as error:  # a table that the user edited is no failure of the jobs
        print(f"posexp: no report: {error}", file=sys.stderr)


def _exit_code(jobs: Sequence[Job]) -> int:
    found = {read_status(job.directory)["status"] for job in jobs}
    if found & {"interrupted", "not started", "running"}:
        return INTERRUPTED
    return FAILED if "failed" in found else COMPLETED


def _pin(overrides: Sequence[str], key: str, directory: Path) -> list[str]:
    """The overrides with the directory that was checked, so that a clock tick cannot change it."""
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    others = [str(o.input_line) for o in parsed if o.get_key_element().lstrip("+") != key]
    quoted = str(directory).replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\${")
    return [*others, f"{key}='{quoted}'"]


def _note_broken_plugins() -> None:
    for found in registries().values():
        for error in found.failures().values():
            print(f"posexp: note: {error}", file=sys.stderr)
