"""Sweeps of before that were not finished, for whoever gives their command again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from posexp.sweep.locks import sweep_is_running
from posexp.sweep.record import SWEEP_FILE, recorded_jobs

LOOKED_AT = 50  # sweeps, the latest first


def unfinished_sweep(parent: Path, command: Sequence[str]) -> str | None:
    """A line about the latest sweep in `parent` of this very `command` that is not done."""
    files = sorted(parent.glob(f"*/{SWEEP_FILE}"), reverse=True)[:LOOKED_AT]
    for path in files:
        directory = path.parent
        try:
            record = json.loads(path.read_text())
            if record["command"] != list(command) or sweep_is_running(directory):
                continue
            jobs = recorded_jobs(directory, record)
        except (OSError, ValueError, KeyError):  # not ours to judge
            continue
        left = sum(not job.ended for job in jobs)
        if left:
            return (
                f"{directory} has the same command and {left} of {len(jobs)} jobs not done; this "
                f"is a new sweep, to go on with that one: posexp sweep resume {directory}"
            )
    return None
