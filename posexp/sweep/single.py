"""One run: in this process, or in one process for each of its devices."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

from hydra._internal.hydra import Hydra
from hydra.core.override_parser.overrides_parser import OverridesParser

from posexp.composition import compose_run
from posexp.composition.compose import CONFIG_NAME
from posexp.status import begin
from posexp.sweep.command import Command
from posexp.sweep.console import kept
from posexp.sweep.directory import claim_job, refuse_existing
from posexp.sweep.disk import check_disk
from posexp.sweep.environment import save_environment
from posexp.sweep.going_on import check_job_plugins
from posexp.sweep.identity import identify
from posexp.sweep.jobs import Job, attempt_line
from posexp.sweep.launch import quoted
from posexp.sweep.machine import describe_machine
from posexp.sweep.outcome import COMPLETED, exit_code, show_report
from posexp.sweep.plan import print_plan
from posexp.sweep.prepare import needs, prepare
from posexp.sweep.process import hold
from posexp.sweep.run import JobRunner
from posexp.tracking.agent import agent_environment


def run_single(hydra: Hydra, command: Command) -> int:
    """Run the one job of `command`.

    Raises `ConfigurationError`, `ValueError` or `PluginError` before anything is written if it is
    not legal.
    """
    jobs, plans = prepare([compose_run(hydra, command.overrides)], {})
    job = dataclasses.replace(jobs[0], identity=identify(jobs[0].config))
    if command.plan:
        print_plan(jobs, plans, job.directory)
        return COMPLETED
    refuse_existing(job.directory)
    if not command.ignore_disk:
        check_disk(job.directory, [needs(job, plans[0])])
    ended: list[int | Exception] = []

    def task(_: Any) -> None:
        # Hydra would print its own words about an exception before passing it on.
        try:
            claim_job(job)
            save_environment(job.directory, describe_machine())
            ended.append(_run_here(job))
        except Exception as error:
            ended.append(error)

    pinned = _pin(command.overrides, "hydra.run.dir", job.directory)
    hydra.run(CONFIG_NAME, task, pinned, with_log_configuration=False)
    if isinstance(ended[0], Exception):
        raise ended[0]
    return _shown(job, ended[0])


def resume_single(job: Job) -> int:
    """Go on with the job of a single run. Raises `PluginError` as `check_job_plugins`."""
    if job.ended:
        print("posexp: the job has ended; nothing to go on with")
        return COMPLETED
    check_job_plugins(job)
    save_environment(job.directory, describe_machine())
    return _shown(job, _run_here(job))


def _run_here(job: Job) -> int:
    if job.devices > 1:
        # Jobs of a sweep are runs of their own; this one may be the run that W&B's agent asked for.
        given = {**agent_environment(), **job.environment}
        JobRunner().run([dataclasses.replace(job, environment=given)])
        return exit_code([job])
    from posexp.job import main

    with job.log.open("ab") as log:
        hold(log, job)
        attempt = begin(job.directory, log=job.log.name, **job.identity)
        if attempt > 1:
            log.write(f"\n{attempt_line(attempt)}".encode())
        with kept(log):
            # It goes on where a provenance.json says that it began.
            return main([str(job.directory)])


def _shown(job: Job, code: int) -> int:
    """The exit code of a run that is its own job, after its results or where its log is."""
    if code == COMPLETED:
        show_report(job.directory)
    else:
        print(f"posexp: the job's log is {job.log}", file=sys.stderr)
    return code


def _pin(overrides: list[str], key: str, directory: Path) -> list[str]:
    """The overrides with the directory that was checked, so that a clock tick cannot change it."""
    parsed = OverridesParser.create().parse_overrides(overrides)
    others = [str(o.input_line) for o in parsed if o.get_key_element().lstrip("+") != key]
    return [*others, f"{key}={quoted(str(directory))}"]
