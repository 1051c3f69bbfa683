"""A sweep: begun, gone on with by the same command, or resumed from its directory alone."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra._internal.hydra import Hydra

from posexp.composition import ComposedSweep, ConfigurationError, compose_sweep, hydra_session
from posexp.files import read_json
from posexp.local import only
from posexp.sweep.directory import claimed_sweep, refuse_existing
from posexp.sweep.disk import check_disk
from posexp.sweep.environment import save_environment
from posexp.sweep.identity import identify
from posexp.sweep.jobs import Job
from posexp.sweep.launch import launch
from posexp.sweep.locks import sweep_lock
from posexp.sweep.machine import changed_machine, describe_machine
from posexp.sweep.matching import match
from posexp.sweep.outcome import finish
from posexp.sweep.plan import print_plan
from posexp.sweep.prepare import needs, prepare, sweep_settings
from posexp.sweep.record import (
    extended,
    is_sweep,
    new_record,
    read_record,
    recorded_jobs,
    write_record,
)
from posexp.sweep.unfinished import unfinished_sweep
from posexp.training.plugins import (
    check_plugins,
    copies,
    copy_plugins,
    record_plugins,
    recorded_plugins,
)


@dataclasses.dataclass(frozen=True)
class Command:
    """`posexp train -m` as it was given."""

    overrides: list[str]
    plan: bool = False
    ignore_disk: bool = False

    @property
    def words(self) -> list[str]:
        """What a user types."""
        return ["posexp", "train", "-m", *self.overrides]


def run_sweep(hydra: Hydra, command: Command) -> int:
    """Begin the sweep of `command`, or go on with it where its directory holds one.

    Raises `ConfigurationError`, `ValueError` or `PluginError`, before anything runs, if a job is
    not legal or is not what it was.
    """
    composed = compose_sweep(hydra, command.overrides)
    if is_sweep(composed.directory) and not composed.dated:
        if command.plan:
            return _go_on(hydra, composed, command)
        with sweep_lock(composed.directory):
            return _go_on(hydra, composed, command)
    return _begin(hydra, composed, command)


def resume_sweep(directory: Path, ignore_disk: bool = False) -> int:
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


def check_job_plugins(job: Job) -> None:
    """Refuse now, and in one line, what the job itself would refuse; it tells of changes itself."""
    provenance = read_json(job.directory / "provenance.json")
    record = None if provenance is None else recorded_plugins(provenance)
    with only(copies(job.directory, record and record["files"])):
        if record is not None:
            check_plugins(record)


def _begin(hydra: Hydra, composed: ComposedSweep, command: Command) -> int:
    settings = sweep_settings(composed.jobs, composed.launcher)
    jobs, plans = prepare(composed.jobs, settings)
    if command.plan:
        print_plan(jobs, plans, composed.directory)
        return 0
    if not composed.dated:
        refuse_existing(composed.directory)
    _check_disk(composed.directory, jobs, plans, command.ignore_disk)
    if composed.dated and (before := unfinished_sweep(composed.directory.parent, command.words)):
        print(f"posexp: note: {before}")
    with claimed_sweep(composed.directory, composed.dated) as directory:
        jobs = [_owned(job, composed.directory, directory) for job in jobs]
        configs = [job.config for job in jobs]
        trainer = configs[0]["trainer"]
        record = new_record(
            directory,
            jobs,
            command.words,
            plugins=record_plugins(configs),
            launcher=composed.launcher,
            machine=describe_machine(),
            settings=settings | {key: trainer[key] for key in ("accelerator", "precision")},
        )
        save_environment(directory, record["machine"])
        write_record(directory, record)
        copy_plugins(directory, configs)
        # Whatever starts the jobs, later edits of a plugin file do not reach them.
        with only(copies(directory)):
            launch(hydra, directory, record["launcher"], jobs)
        return finish(directory, jobs)


def _go_on(hydra: Hydra, composed: ComposedSweep, command: Command) -> int:
    directory = composed.directory
    record = read_record(directory)
    known = recorded_jobs(directory, record)
    found = match(composed.jobs, known)
    # What is new gets the next numbers.
    new = [place for place, job in enumerate(found) if job is None]
    if new:
        numbers = [len(known) + sum(k < place for k in new) for place in range(len(found))]
        again = compose_sweep(hydra, command.overrides, numbers)
        _refuse_taken(again, new, known)
        added, plans = prepare([again.jobs[place] for place in new], record["settings"])
        added = [_owned(job, directory, directory) for job in added]
    else:
        added, plans = [], []
    for place, job in zip(new, added, strict=True):
        found[place] = job
    jobs = [job for job in found if job is not None]
    if command.plan:
        print_plan(added, plans, directory)
        return 0
    _check_disk(directory, added, plans, command.ignore_disk)
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


def _owned(job: Job, planned: Path, directory: Path) -> Job:
    """The job where its sweep is, as a part of it."""
    tracking = job.config["tracking"]
    if tracking.get("group", "none asked") is None:
        tracking["group"] = directory.name
    place = directory / job.directory.relative_to(planned)
    return dataclasses.replace(job, directory=place, identity=identify(job.config))


def _refuse_taken(again: ComposedSweep, new: Sequence[int], known: Sequence[Job]) -> None:
    taken = {job.directory for job in known}
    for place in new:
        directory = again.jobs[place].directory
        if directory in taken or directory.exists():
            raise ConfigurationError(
                f"job {place} ({' '.join(again.jobs[place].overrides)}) is new, but {directory} "
                "exists: hydra.sweep.subdir must differ for every job (use ${hydra:job.num} in it)"
            )


def _check_disk(directory: Path, jobs: Sequence[Job], plans: Sequence[Any], ignore: bool) -> None:
    if not ignore:
        check_disk(directory, (needs(job, plan) for job, plan in zip(jobs, plans, strict=True)))
