"""A job and what its directory says about it."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

ENDED = ("completed", "diverged")
TRACEBACK_LINES = 30


@dataclasses.dataclass(frozen=True)
class Job:
    """One directory to train in and the resolved config that says what."""

    directory: Path
    config: dict[str, Any]
    overrides: list[str] = dataclasses.field(default_factory=list)
    environment: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The directory's name, by which a sweep knows the job."""
        return self.directory.name

    @property
    def devices(self) -> int:
        """The number of processes that train this job together."""
        return int(self.config["trainer"]["devices"])

    @property
    def log(self) -> Path:
        """Everything that the job printed."""
        return self.directory / "console.log"


def read_status(directory: Path) -> dict[str, Any]:
    """The content of status.json; status "not started" if there is none that can be read."""
    try:
        return json.loads((directory / "status.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {"status": "not started", "returncode": None, "seconds": None, "error": None}


def last_line(log: Path) -> str | None:
    """The last line of a log that says anything."""
    lines = [line for line in _text(log).splitlines() if line.strip()]
    return lines[-1].strip() if lines else None


def last_traceback(log: Path) -> str | None:
    """The last traceback of a log, chained causes left out, at most 30 lines of it."""
    lines = _text(log).splitlines()
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


def _text(log: Path) -> str:
    return log.read_text(errors="replace") if log.is_file() else ""
