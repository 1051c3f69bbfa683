"""A sweep that was begun before: what is left of it, and what a command adds to it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra._internal.hydra import Hydra

from posexp.composition import ComposedSweep, ConfigurationError, compose_sweep, hydra_session
from posexp.files import read_json
from posexp.local import only
from posexp.sweep.command import Command
from posexp.sweep.disk import check_disk
from posexp.sweep.environment import save_environment
from posexp.sweep.jobs import Job
from posexp.sweep.launch import launch
from posexp.sweep.locks import sweep_lock
from posexp.sweep.machine import changed_machine, describe_machine
from posexp.sweep.matching import match
from posexp.sweep.outcome import finish
from posexp.sweep.plan import print_plan
from posexp.sweep.prepare import needs, owned, prepare
from posexp.sweep.record import extended, read_record, recorded_jobs, write_record
from posexp.training.plugins import (
    check_plugins,
    copies,
    copy_plugins,
    record_plugins,
    recorded_plugins,
)


def resume_sweep(directory: Path) -> int:
    """Go on with every job of a sweep that has not ended, with the settings it has.

    Raises `ValueError` if another process runs it, and `PluginError`, before any job starts, if a
    plugin is gone, is another one, or a copy of one was altered.
    """
    with sweep_lock(directory):
        record = read_record(directory)
        jobs = recorded_jobs(directory, record)
        left = _left(jobs)
        for job in left:
            check_job_plugins(job)
        if left:
            with only(copies(directory, record["plugins"]["files"])):
                for change in check_plugins(record["plugins"]):
                    print(f"warning: {change}", file=sys.stderr)
                _run(directory, record, left)
        return finish(directory, jobs)


def go_on(hydra: Hydra, composed: ComposedSweep, command: Command) -> int:
    """Run what is left of the jobs of `command`, and those that are new in it, in its sweep.

    Raises as `run_sweep`, before anything runs.
    """
    from posexp.job import check_job

    directory = composed.directory
    record = read_record(directory)
    known = recorded_jobs(directory, record)
    found = match(composed.jobs, known)
    new = [place for place, job in enumerate(found) if job is None]
    added, plans = _prepare_new(hydra, composed, command, new, known, record)
    for place, job in zip(new, added, strict=True):
        found[place] = job
    jobs = [job for job in found if job is not None]
    if command.plan:
        left = [job for job in jobs if not job.ended]
        print_plan(left, [check_job(job.config) for job in left], directory)
        return 0
    for job in known:
        if not job.ended:
            check_job_plugins(job)
    if not command.ignore_disk:
        check_disk(directory, map(needs, added, plans))
    configs = [job.config for job in (*known, *added)]
    if added or composed.launcher != record["launcher"]:
        record = extended(
            record,
            directory,
            added,
            command.words,
            plugins=record_plugins(configs),
            launcher=composed.launcher,
        )
        write_record(directory, record)
    copy_plugins(directory, configs)
    others = len(known) + len(added) - len(jobs)
    if others:
        print(f"posexp: {others} other jobs of {directory} are not in this command: left alone")
    if left := _left(jobs, len(added)):
        with only(copies(directory, record["plugins"]["files"])):
            _run(directory, record, left, hydra)
    return finish(directory, jobs)


def check_job_plugins(job: Job) -> None:
    """Refuse now, and in one line, what the job itself would refuse; it tells of changes itself."""
    provenance = read_json(job.directory / "provenance.json")
    record = None if provenance is None else recorded_plugins(provenance)
    with only(copies(job.directory, record and record["files"])):
        if record is not None:
            check_plugins(record)


def _run(
    directory: Path, record: dict[str, Any], jobs: Sequence[Job], hydra: Hydra | None = None
) -> None:
    for change in changed_machine(record["machine"]):
        print(
            f"warning: {change}: equality bit for bit with an uninterrupted sweep is not promised",
            file=sys.stderr,
        )
    save_environment(directory, describe_machine())
    if hydra is not None:
        launch(hydra, directory, record["launcher"], jobs)
        return
    with hydra_session() as hydra:
        launch(hydra, directory, record["launcher"], jobs)


def _left(jobs: Sequence[Job], new: int = 0) -> list[Job]:
    left = [job for job in jobs if not job.ended]
    fresh = f", {new} of them new" if new else ""
    print(
        f"posexp: {len(jobs) - len(left)} of {len(jobs)} jobs have ended; "
        f"{len(left)} to go on{fresh}",
        flush=True,
    )
    return left


def _prepare_new(
    hydra: Hydra,
    composed: ComposedSweep,
    command: Command,
    new: Sequence[int],
    known: Sequence[Job],
    record: Mapping[str, Any],
) -> tuple[list[Job], list[Any]]:
    """The jobs at the places `new` of a command, with the next numbers of the sweep."""
    if not new:
        return [], []
    number = {place: len(known) + k for k, place in enumerate(new)}
    after = len(known) + len(new)
    numbers = [number.get(place, after + place) for place in range(len(composed.jobs))]
    again = compose_sweep(hydra, command.overrides, numbers)
    _refuse_taken(again, new, known)
    added, plans = prepare([again.jobs[place] for place in new], record["settings"])
    return [owned(job, composed.directory, composed.directory) for job in added], plans


def _refuse_taken(again: ComposedSweep, new: Sequence[int], known: Sequence[Job]) -> None:
    taken = {job.directory for job in known}
    for place in new:
        directory = again.jobs[place].directory
        if directory in taken or directory.exists():
            raise ConfigurationError(
                f"job {place} ({' '.join(again.jobs[place].overrides)}) is new, but {directory} "
                "exists: hydra.sweep.subdir must differ for every job (use ${hydra:job.num} in it)"
            )
