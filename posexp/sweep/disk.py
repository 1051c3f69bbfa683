"""Is there room for what a sweep will write? Asked before it begins."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from posexp.sweep.units import size


class DiskSpaceError(ValueError):
    """Fewer bytes are free than the checkpoints will take."""


def check_disk(directory: Path, needs: Iterable[int]) -> None:
    """Raise `DiskSpaceError` with both numbers if `needs`, bytes a job, do not fit in."""
    existing = next(p for p in (directory, *directory.parents) if p.exists())
    total, free = sum(needs), shutil.disk_usage(existing).free
    if total > free:
        raise DiskSpaceError(
            f"the jobs will write about {size(total)}, mostly checkpoints, and {existing} has "
            f"{size(free)} free: make room, keep fewer checkpoints, or go on all the same with "
            "--ignore-disk"
        )
