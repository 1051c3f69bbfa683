"""Room made in the directory of a sweep, without touching a result."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.jobs import Job, is_at_work
from posexp.sweep.locks import sweep_lock
from posexp.sweep.record import is_sweep, read_sweep
from posexp.sweep.units import size


@dataclasses.dataclass(frozen=True)
class Leftover:
    """A file or directory that can go, and why."""

    path: Path
    reason: str

    @property
    def bytes(self) -> int:
        """What deleting it frees."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        return sum(p.stat().st_size for p in files if p.is_file() and not p.is_symlink())

    def delete(self) -> None:
        """Remove it for good."""
        if self.path.is_dir():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)


def clean(directory: Path, delete: bool = False) -> list[Leftover]:
    """Show what can go, and `delete` it if that is asked.

    Raises `DirectoryInUseError` if `directory` is no sweep and no job, or is at work.
    """
    jobs = read_sweep(directory)
    with sweep_lock(directory) if is_sweep(directory) else contextlib.nullcontext():
        at_work = [job.name for job in jobs if is_at_work(job.directory)]
        if at_work:
            raise DirectoryInUseError(f"{directory}: {', '.join(at_work)} is still at work")
        found = [leftover for job in jobs for leftover in leftovers(job)]
        for leftover in found:
            print(f"{size(leftover.bytes):>8}  {leftover.path}  ({leftover.reason})")
        total = size(sum(leftover.bytes for leftover in found)) if found else "nothing"
        if delete:
            for leftover in found:
                leftover.delete()
            print(f"deleted: {total}")
        else:
            print(f"could be deleted: {total}" + ("; --yes does it" if found else ""))
    return found


def leftovers(job: Job) -> Iterator[Leftover]:
    """What `job` keeps and needs no more."""
    directory = job.directory
    if job.ended:
        checkpoints = directory / "checkpoints"
        if checkpoints.is_dir():
            yield Leftover(checkpoints, "the job has ended; posexp eval and generate need it")
        for run in sorted(directory.glob("wandb/run-*")):
            yield Leftover(run, "W&B has it")
    for run in sorted(directory.glob("wandb/offline-run-*")):
        # `wandb sync` marks what it has uploaded; what it has not is a result.
        files = list(run.glob("*.wandb"))
        if files and all(file.with_name(f"{file.name}.synced").exists() for file in files):
            yield Leftover(run, "it was uploaded to W&B")
    for partial in sorted(directory.rglob(".*.partial")):
        if not job.ended or "checkpoints" not in partial.relative_to(directory).parts:
            yield Leftover(partial, "half a file of a process that was killed")
