"""From composed jobs to jobs that can run: the machine's settings resolved, everything checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch

from posexp.composition import ComposedJob, ConfigurationError
from posexp.composition.launchers import runs_elsewhere
from posexp.registry import PluginError
from posexp.sweep.estimate import estimate_bytes
from posexp.sweep.identity import identify
from posexp.sweep.jobs import Job
from posexp.sweep.places import check_n_jobs, cores_a_job


def sweep_settings(composed: Sequence[ComposedJob], launcher: Mapping[str, Any]) -> dict[str, Any]:
    """What all jobs of a sweep share, and jobs that join it later too: `cores` for each of them.

    Raises `ValueError` for a number of jobs at once that cannot be.
    """
    if runs_elsewhere(launcher["settings"] or {}):
        return {"elsewhere": True}
    n_jobs = (launcher["settings"] or {}).get("n_jobs")
    check_n_jobs(n_jobs)
    trainers = [one.config["trainer"] for one in composed]
    chosen = {trainer["accelerator"] for trainer in trainers}
    on_gpu = "cpu" not in chosen and torch.cuda.is_available()
    wide = any(trainer["devices"] > 1 for trainer in trainers)
    return {"cores": cores_a_job(torch.get_num_threads(), n_jobs, on_gpu, wide)}


def prepare(
    composed: Sequence[ComposedJob], settings: Mapping[str, Any]
) -> tuple[list[Job], list[Any]]:
    """Every job with the machine's settings resolved, and what the check found out about it.

    Raises `ConfigurationError`, `ValueError` or `PluginError` for the first job that is not legal.
    """
    from posexp.job import check_job, resolve_machine
    from posexp.training.machine import other_machine

    resolve = other_machine if settings.get("elsewhere") else resolve_machine

    jobs, plans = [], []
    for number, one in enumerate(composed):
        try:
            config = resolve(shared(one.config, settings))
            jobs.append(Job(one.directory, config, one.overrides, one.environment))
            plans.append(check_job(config))
        except (ValueError, PluginError) as error:
            if len(composed) == 1:
                raise
            named = " ".join(one.overrides)
            raise ConfigurationError(f"job {number} ({named}): {error}") from error
    return jobs, plans


def shared(config: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with what it leaves open as the sweep has it; the rest is for the machine."""
    result = deepcopy(dict(config))
    trainer = result["trainer"]
    for name in ("accelerator", "precision"):
        if trainer[name] == "auto" and name in settings:
            trainer[name] = settings[name]
    if trainer["threads"] is None and "cores" in settings:
        on_gpu = trainer["accelerator"] == "gpu" or (
            trainer["accelerator"] == "auto" and torch.cuda.is_available()
        )
        processes = 1 if on_gpu else max(1, trainer["devices"])
        trainer["threads"] = max(1, settings["cores"] // processes)
    return result


def needs(job: Job, plan: Any) -> int:
    """Bytes on the disk."""
    return estimate_bytes(plan.checkpoint_bytes, job.config["trainer"].get("keep_checkpoints", 1))


def owned(job: Job, planned: Path, directory: Path) -> Job:
    """The job where its sweep is, as a part of it."""
    tracking = job.config["tracking"]
    if tracking.get("group", "none asked") is None:
        tracking["group"] = directory.name
    place = directory / job.directory.relative_to(planned)
    return dataclasses.replace(job, directory=place, identity=identify(job.config))
