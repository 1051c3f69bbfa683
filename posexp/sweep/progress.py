"""How far a job is, read from what it printed."""

from __future__ import annotations

import csv
import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posexp.files import read_json
from posexp.status import ENDED
from posexp.sweep.jobs import Job, last_attempt

_STEP = re.compile(r"^step (\d+)/(\d+)\s+loss (\S+)(?:.*?(\d+) s left)?", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Progress:
    """The step of `steps` that was told last, and the training loss there, if it was told.

    `left` is how many seconds the training was to go on from there.
    """

    step: int
    steps: int
    loss: float | None = None
    left: float | None = None

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return min(1.0, self.step / self.steps) if self.steps else 0.0


def parse(line: str) -> Progress | None:
    """The progress that a line of output tells, if it tells any."""
    found = _STEP.match(line)
    return _progress(found.groups()) if found else None


def read_progress(job: Job, status: Mapping[str, Any]) -> Progress:
    """How far `job` is, from its directory alone."""
    steps = job.config["trainer"].get("max_steps") or 0
    if status["status"] in ENDED:
        training = (read_json(job.directory / "result.json") or {}).get("training") or {}
        return Progress(training.get("steps", steps), steps, training.get("train_loss"))
    told = _STEP.findall(last_attempt(job.log))
    if told:
        return _progress(told[-1])
    return _from_metrics(job.directory / "metrics.csv", steps)


def _progress(told: tuple[str, ...]) -> Progress:
    step, steps, loss, left = told
    return Progress(int(step), int(steps), _number(loss), _number(left))


def _from_metrics(path: Path, steps: int) -> Progress:
    """A run on a terminal shows a bar instead of lines, so its metrics have to tell."""
    step, loss = 0, None
    if path.is_file():
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines):
                step = int(_number(row.get("step")) or step)
                loss = _number(row.get("train/loss")) or loss
    return Progress(step, steps, loss)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if value == value else None
