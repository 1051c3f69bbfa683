"""A sweep: begun, or gone on with where its directory holds one."""

from __future__ import annotations

from hydra._internal.hydra import Hydra

from posexp.composition import ComposedSweep, compose_sweep
from posexp.local import only
from posexp.sweep.command import Command
from posexp.sweep.directory import claimed_sweep, refuse_existing
from posexp.sweep.disk import check_disk
from posexp.sweep.environment import save_environment
from posexp.sweep.going_on import go_on
from posexp.sweep.launch import launch
from posexp.sweep.locks import sweep_lock
from posexp.sweep.machine import describe_machine
from posexp.sweep.outcome import finish
from posexp.sweep.plan import print_plan
from posexp.sweep.prepare import needs, owned, prepare, sweep_settings
from posexp.sweep.record import is_sweep, new_record, write_record
from posexp.sweep.unfinished import unfinished_sweep
from posexp.training.plugins import copies, copy_plugins, record_plugins


def run_sweep(hydra: Hydra, command: Command) -> int:
    """Begin the sweep of `command`, or go on with it where its directory holds one.

    Raises `ConfigurationError`, `ValueError` or `PluginError`, before anything runs, if a job is
    not legal or is not what it was.
    """
    composed = compose_sweep(hydra, command.overrides)
    if is_sweep(composed.directory) and not composed.dated:
        if command.plan:
            return go_on(hydra, composed, command)
        with sweep_lock(composed.directory):
            return go_on(hydra, composed, command)
    return _begin(hydra, composed, command)


def _begin(hydra: Hydra, composed: ComposedSweep, command: Command) -> int:
    settings = sweep_settings(composed.jobs, composed.launcher)
    jobs, plans = prepare(composed.jobs, settings)
    if command.plan:
        print_plan(jobs, plans, composed.directory)
        return 0
    if not composed.dated:
        refuse_existing(composed.directory)
    if not command.ignore_disk:
        check_disk(composed.directory, map(needs, jobs, plans))
    if composed.dated and (before := unfinished_sweep(composed.directory.parent, command.words)):
        print(f"posexp: note: {before}")
    with claimed_sweep(composed.directory, composed.dated) as directory:
        jobs = [owned(job, composed.directory, directory) for job in jobs]
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
        # Whatever comes after this line and is cut off, the same command makes up for.
        write_record(directory, record)
        save_environment(directory, record["machine"])
        copy_plugins(directory, configs)
        # Whatever starts the jobs, later edits of a plugin file do not reach them.
        with only(copies(directory)):
            launch(hydra, directory, record["launcher"], jobs)
        return finish(directory, jobs)
