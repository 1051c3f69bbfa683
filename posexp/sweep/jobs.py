"""A job and what its directory says about it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

from posexp.status import ENDED, now, read_status
from posexp.sweep.locks import is_held

__all__ = ["ENDED", "Job", "job_state", "last_line", "last_traceback", "read_status"]

LOG = "console.log"
TRACEBACK_LINES = 30
ATTEMPT = "==== attempt "
#: What is known of a job that says it runs while no process does.
VANISHED = "its process vanished: killed along with the launcher, or the machine stopped"


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
    while its sweep runs.
    """
    found = read_status(directory)
    if found["status"] == "running" and not is_held(directory / LOG):
        found = read_status(directory)  # it may have ended between the two looks
        if found["status"] == "running":
            found |= {"status": "interrupted", "error": VANISHED}
    if found["status"] == "not started" and sweep_is_running:
        found["status"] = "queued"
    return found


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
