"""Directories that hold results: claimed once, never written over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from posexp.files import write_json
from posexp.sweep.jobs import Job
from posexp.training.plugins import copy_plugins, record_plugins

SWEEP_FILE = "sweep.json"


class DirectoryInUseError(ValueError):
    """A directory that already holds something, or is no sweep or job to go on with."""


def refuse_existing(directory: Path) -> None:
    """Raise `DirectoryInUseError` unless `directory` is new or empty."""
    if directory.exists() and not directory.is_dir():
        raise DirectoryInUseError(f"{directory} is a file, but a directory is needed")
    if directory.is_dir() and any(directory.iterdir()):
        raise DirectoryInUseError(
            f"{directory} already holds {_content(directory)}: choose another directory, or go on "
            f"with it (posexp train --resume {directory})"
        )


def claim_sweep(directory: Path, jobs: Sequence[Job], command: Sequence[str]) -> None:
    """Make the directory of a sweep and record its jobs, for a resume with configs and plugins.

    Raises `DirectoryInUseError` if it holds anything, even if another process was quicker.
    """
    refuse_existing(directory)
    directory.mkdir(parents=True, exist_ok=True)
    record = {
        "jobs": [job.directory.relative_to(directory).as_posix() for job in jobs],
        "command": list(command),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "configs": [job.config for job in jobs],
        "overrides": [job.overrides for job in jobs],
        "environments": [job.environment for job in jobs],
        "plugins": record_plugins(job.config for job in jobs),
    }
    try:
        with (directory / SWEEP_FILE).open("x") as file:
            json.dump(record, file, indent=1, allow_nan=False)
    except FileExistsError as error:
        raise DirectoryInUseError(f"{directory} was claimed by another sweep just now") from error
    copy_plugins(directory, [job.config for job in jobs])


def claim_job(job: Job, resume: bool = False) -> None:
    """Make a job's directory: its config, and a copy of the plugin files that it uses.

    The directory of a job to `resume` stays as it is.

    Raises `DirectoryInUseError` if it exists otherwise.
    """
    if resume and (job.directory / "config.json").is_file():
        return
    try:
        job.directory.mkdir(parents=True)
    except FileExistsError:
        # Hydra makes the directory of a single run itself; an empty one is nobody's.
        refuse_existing(job.directory)
    copy_plugins(job.directory, [job.config])
    write_json(job.directory / "config.json", job.config)


def read_sweep(directory: Path) -> list[Job]:
    """The jobs of a sweep's directory, or of the directory of one job.

    Raises `DirectoryInUseError` if it is neither.
    """
    sweep, single = directory / SWEEP_FILE, directory / "config.json"
    if sweep.is_file():
        record = json.loads(sweep.read_text())
        rows = zip(
            record["jobs"],
            record["configs"],
            record["overrides"],
            record["environments"],
            strict=True,
        )
        return [Job(directory / name, *rest) for name, *rest in rows]
    if single.is_file():
        return [Job(directory, json.loads(single.read_text()))]
    raise DirectoryInUseError(
        f"{directory} is not the directory of a sweep or a job: it has no {SWEEP_FILE} and no "
        "config.json"
    )


def sweep_plugins(directory: Path) -> dict[str, Any]:
    """What `claim_sweep` recorded of the plugins; sweeps of before recorded nothing."""
    none: dict[str, Any] = {"scheme": {}, "task": {}, "files": {}}
    return json.loads((directory / SWEEP_FILE).read_text()).get("plugins", none)


def _content(directory: Path) -> str:
    if (directory / SWEEP_FILE).exists():
        return "a sweep"
    if (directory / "config.json").exists():
        return "a job"
    names = sorted(p.name for p in directory.iterdir())
    return ", ".join(names[:3]) + (" and more" if len(names) > 3 else "")
