"""Directories that hold results: claimed once, never written over."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from posexp.files import write_json
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.jobs import Job
from posexp.sweep.locks import SWEEP_LOCK, sweep_lock
from posexp.sweep.record import SWEEP_FILE, is_sweep
from posexp.training.plugins import copy_plugins

#: What a start that was killed at once leaves behind, and the next one may take over.
UNFINISHED = {SWEEP_LOCK, ".sweep.json.partial", ".config.json.partial"}


def refuse_existing(directory: Path) -> None:
    """Raise `DirectoryInUseError` unless `directory` is new or empty."""
    if directory.exists() and not directory.is_dir():
        raise DirectoryInUseError(f"{directory} is a file, but a directory is needed")
    if directory.is_dir() and any(p.name not in UNFINISHED for p in directory.iterdir()):
        raise DirectoryInUseError(
            f"{directory} already holds {_content(directory)}: choose another directory, or go on "
            f"with it (posexp train --resume {directory})"
        )


@contextmanager
def claimed_sweep(directory: Path, dated: bool = False) -> Iterator[Path]:
    """Make the directory of a new sweep, and be the only one that runs it meanwhile.

    A `dated` one, which nobody asked for by name, gets a suffix where another sweep of the same
    second was quicker. Raises `DirectoryInUseError` if the directory holds anything.
    """
    if dated:
        directory = _first_free(directory)
    else:
        refuse_existing(directory)
        directory.mkdir(parents=True, exist_ok=True)
    with sweep_lock(directory):
        if is_sweep(directory):
            raise DirectoryInUseError(f"{directory} was claimed by another sweep just now")
        yield directory


def claim_job(job: Job, resume: bool = False) -> None:
    """Make a job's directory: its config, and a copy of the plugin files that it uses.

    The directory of a job to `resume` stays as it is.

    Raises `DirectoryInUseError` if it exists otherwise.
    """
    config = job.directory / "config.json"
    if not (resume and config.is_file()):
        try:
            job.directory.mkdir(parents=True)
        except FileExistsError:
            # Hydra makes the directory of a single run itself; an empty one is nobody's.
            refuse_existing(job.directory)
        write_json(config, job.config)
    copy_plugins(job.directory, [job.config])


def _first_free(directory: Path) -> Path:
    directory.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        candidate = directory if number == 1 else directory.with_name(f"{directory.name}_{number}")
        try:
            candidate.mkdir()  # of two at once, one succeeds
        except FileExistsError:
            continue
        return candidate
    raise AssertionError("unreachable")


def _content(directory: Path) -> str:
    if (directory / SWEEP_FILE).exists():
        return "a sweep"
    if (directory / "config.json").exists():
        return "a job"
    names = sorted(p.name for p in directory.iterdir())
    return ", ".join(names[:3]) + (" and more" if len(names) > 3 else "")
