"""How a job stands, as its status.json says: written by the job, and by what started it.

`status` is running, completed, diverged, failed or interrupted; `attempts` counts the starts, and
`seconds` is the duration of the last. Times are UTC. While the job runs on `host`, the file's time
of change says when it last gave a sign of life.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from posexp.files import write_json

ENDED = ("completed", "diverged")
RANK_FILE = ".failed_rank"
BEAT = 30.0  # seconds between signs of life

NEVER_STARTED: dict[str, Any] = {
    "status": "not started",
    "returncode": None,
    "seconds": None,
    "error": None,
}


def read_status(directory: Path) -> dict[str, Any]:
    """The content of status.json; status "not started" if there is none that can be read."""
    try:
        return json.loads((directory / "status.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return dict(NEVER_STARTED)


def begin(directory: Path, **facts: Any) -> int:
    """Record that a process is about to train in `directory`, and return which attempt it is."""
    failed_rank(directory)  # of an attempt that nobody saw the end of
    attempts = read_status(directory).get("attempts", 0) + 1
    started = {"status": "running", "attempts": attempts, "started": now(), "ended": None}
    facts["host"] = socket.gethostname()
    write_json(directory / "status.json", NEVER_STARTED | started | facts)
    return attempts


@contextmanager
def signs_of_life(directory: Path) -> Iterator[None]:
    """Touch status.json now and then meanwhile, for other machines: locks may not reach them."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT):
            with suppress(OSError):
                os.utime(directory / "status.json")

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def last_sign(directory: Path) -> tuple[str, float] | None:
    """The other machine that a job says it runs on, and the seconds since its last sign of life.

    None for a job of this machine, where its lock tells, and for one that does not run.
    """
    status = read_status(directory)
    host = status.get("host")
    if status["status"] != "running" or host in (None, socket.gethostname()):
        return None
    with suppress(OSError):
        changed = (directory / "status.json").stat().st_mtime
        return host, max(0.0, time.time() - changed)
    return None


def record(directory: Path, status: str, returncode: int | None, error: str | None = None) -> None:
    """Record `status`, and keep what `begin` knew."""
    known = read_status(directory)
    outcome = {"status": status, "returncode": returncode, "error": error}
    if status != "running":
        outcome |= {"ended": now(), "seconds": _since(known.get("started"))}
    write_json(directory / "status.json", known | outcome)


def record_rank(directory: Path, rank: int, error: str | None) -> None:
    """Record how another rank than the first failed, if it was before any other.

    The first one then fails too, and knows only that the connection broke.
    """
    if read_status(directory)["status"] == "running":
        with suppress(FileExistsError), (directory / RANK_FILE).open("x") as file:
            file.write(f"rank {rank}: {error}")


def failed_rank(directory: Path) -> str | None:
    """What `record_rank` recorded, once."""
    path = directory / RANK_FILE
    try:
        said = path.read_text()
    except FileNotFoundError:
        return None
    path.unlink()
    return said or None


def now() -> str:
    """UTC to the millisecond, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _since(started: str | None) -> float | None:
    if started is None:
        return None
    passed = datetime.now(UTC) - datetime.fromisoformat(started)
    return round(passed.total_seconds(), 2)
