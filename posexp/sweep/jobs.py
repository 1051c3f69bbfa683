"""A job and what its directory says about it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from posexp.status import ENDED, last_sign, now, read_status
from posexp.sweep.locks import is_held
from posexp.sweep.units import duration

__all__ = ["ENDED", "Job", "job_state", "last_line", "last_traceback", "read_status"]

LOG = "console.log"
TRACEBACK_LINES = 30
ATTEMPT = "==== attempt "
#: What is known of a job that says it runs while no process does.
VANISHED = "its process vanished: killed along with the launcher, or the machine stopped"
#: Seconds without a sign of life after which a job on another machine is taken for dead. Its signs
#: are seen here up to a minute late, by a clock that may be another.
SILENCE = 180.0


@dataclasses.dataclass(frozen=True)
class Job:
    """One directory to train in and the resolved config that says what.

    `identity` is what must be the same for two runs to be the same job, see `identify`.
    """

    directory: Path
    config: dict[str, Any]
    overrides: list[str] = dataclasses.field(default_factory=list)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    identity: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The directory's name, by which a sweep knows the job."""
        return self.directory.name

    @property
    def label(self) -> str:
        """What its lines of output begin with: the number in its name, or all of it."""
        number = self.name.partition("_")[0]
        return number if number.isdigit() else self.name

    @property
    def devices(self) -> int:
        """The number of processes that train this job together."""
        return int(self.config["trainer"]["devices"])

    @property
    def log(self) -> Path:
        """Everything that the job printed, every attempt of it."""
        return self.directory / LOG

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to do."""
        return read_status(self.directory)["status"] in ENDED


def job_state(directory: Path, sweep_is_running: bool = False) -> dict[str, Any]:
    """status.json, and what it cannot say itself.

    A job that says it runs while no process does is interrupted; one without a status is queued
    while its sweep runs. `last_sign` is the seconds since one on another machine gave any.
    """
    found = read_status(directory)
    if found["status"] == "running" and not is_at_work(directory):
        found = read_status(directory)  # it may have ended between the two looks
        if found["status"] == "running":
            found |= {"status": "interrupted", "error": _vanished(directory)}
    sign = last_sign(directory)
    found["last_sign"] = sign[1] if found["status"] == "running" and sign is not None else None
    if found["status"] == "not started" and sweep_is_running:
        found["status"] = "queued"
    return found


def is_at_work(directory: Path) -> bool:
    """Whether a process trains in `directory`.

    It holds the lock of the log here, or has given a sign of life lately on another machine: on
    some file systems, locks do not reach from one to the other.
    """
    return is_held(directory / LOG) or works_elsewhere(directory) is not None


def works_elsewhere(directory: Path) -> str | None:
    """`on node7, last sign 12 s ago`, for a job that lives on another machine."""
    sign = last_sign(directory)
    if sign is None or sign[1] > SILENCE:
        return None
    return f"on {sign[0]}, last sign {duration(sign[1])} ago"


def _vanished(directory: Path) -> str:
    sign = last_sign(directory)
    if sign is None:
        return VANISHED
    return f"no sign of it on {sign[0]} for {duration(sign[1])}: killed, or the machine stopped"


def attempt_line(number: int) -> str:
    """What separates the attempts of a job in its log."""
    return f"{ATTEMPT}{number}, {now()} ====\n"


def last_attempt(log: Path) -> str:
    """What was logged since the job last began."""
    text = log.read_text(errors="replace") if log.is_file() else ""
    _, separator, rest = text.rpartition(f"\n{ATTEMPT}")
    return rest.partition("\n")[2] if separator else text


def last_line(log: Path) -> str | None:
    """The last line of the last attempt that says anything."""
    lines = [line for line in last_attempt(log).splitlines() if line.strip()]
    return lines[-1].strip() if lines else None


def last_traceback(log: Path) -> str | None:
    """The last traceback of the last attempt, chained causes left out, at most 30 lines of it."""
    lines = last_attempt(log).splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("Traceback (most recent")]
    if not starts:
        return None
    block = [lines[starts[-1]]]
    for line in lines[starts[-1] + 1 :]:
        block.append(line)
        # The exception itself is the first line that is not indented.
        if re.match(r"\S", line):
            break
    if len(block) > TRACEBACK_LINES:
        block = [block[0], "  ...", *block[-TRACEBACK_LINES + 2 :]]
    return "\n".join(block)
