"""Who is at work where: locks that the system drops when their holder dies, however it dies."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from posexp.sweep.errors import DirectoryInUseError

SWEEP_LOCK = "sweep.lock"
#: Seconds for which a lock may be in the hands of someone who only looks.
BLINK = 0.5


def lock(
    file: BinaryIO, message: str, waiting: Callable[[], bool] | None = None, poll: float = 0.05
) -> None:
    """Hold the lock of an open file for as long as it is open here or in a child.

    Where another process holds it, wait for as long as `waiting()` says so. Raises
    `DirectoryInUseError` with `message` after that.
    """
    blink = time.monotonic() + BLINK
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > blink and not (waiting is not None and waiting()):
                raise DirectoryInUseError(message) from error
            time.sleep(poll)


def is_held(path: Path) -> bool:
    """Whether a living process holds the lock of the file at `path`."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


@contextlib.contextmanager
def sweep_lock(directory: Path) -> Iterator[None]:
    """Be the only process that runs the sweep in `directory`, which exists.

    Raises `DirectoryInUseError` if another does.
    """
    # Jobs do not inherit it: Python opens files so that they end with the process.
    with (directory / SWEEP_LOCK).open("ab") as file:
        lock(
            file,
            f"{directory}: another posexp is running this sweep now; "
            f"posexp sweep status {directory} shows how it stands",
        )
        yield


def sweep_is_running(directory: Path) -> bool:
    """Whether a living process runs the sweep in `directory`."""
    return is_held(directory / SWEEP_LOCK)
