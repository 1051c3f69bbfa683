"""Jobs of a cluster watched from outside: what the queue says, and what they say themselves."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from posexp.status import ENDED, read_status, record
from posexp.sweep.jobs import Job

#: Seconds between looks at the queue.
EVERY = 5.0
#: Looks after which a job is given up that left the queue without a word about how it ended. The
#: files of another node may be seen here a minute late.
PATIENCE = 12

# From squeue(1); a job in any other state waits, runs, or is about to go on.
GONE = "GONE"  # long ended: Slurm has forgotten it
ENDED_STATES = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
    *("TIMEOUT", GONE),
}
_SETTLED = (*ENDED, "failed", "interrupted")


def watch(jobs: Sequence[Job], places: Mapping[str, Any]) -> None:
    """Print every change of state until all jobs have ended; `places` are submitit's, by name."""
    told: dict[str, str] = {}
    silent: Counter[str] = Counter()
    waiting = list(jobs)
    while waiting:
        states = _look(places)
        for job in waiting if states else ():
            now = _state(job, states[job.name], silent)
            if now is not None and told.get(job.name) != now:
                told[job.name] = now
                print(f"{job.name} {now} ({places[job.name].job_id})", flush=True)
        waiting = [job for job in waiting if told.get(job.name) not in _SETTLED]
        if waiting:
            time.sleep(EVERY)


def squeue() -> dict[str, str] | None:
    """Slurm's id -> state of the user's jobs; an array's are `17_0`, `17_1`. None: no answer.

    `sacct`, which submitit asks, knows nothing on a cluster that keeps no accounts.
    """
    command = ["squeue", "--me", "--noheader", "--array", "--states=all", "--format=%i %T"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return dict(line.split() for line in answer.stdout.splitlines())


def _look(places: Mapping[str, Any]) -> dict[str, str] | None:
    from submitit import LocalJob

    if all(isinstance(place, LocalJob) for place in places.values()):
        return {n: GONE if place.done() else "RUNNING" for n, place in places.items()}
    queue = squeue()
    if queue is None:
        return None
    return {name: queue.get(place.job_id, GONE) for name, place in places.items()}


def _state(job: Job, queue: str, silent: Counter[str]) -> str | None:
    """What to tell of a job; None while nothing is known."""
    if queue not in ENDED_STATES:
        return "queued" if queue == "PENDING" else "running"
    said = read_status(job.directory)["status"]
    if said in _SETTLED:
        return str(said)
    silent[job.name] += 1
    if silent[job.name] < PATIENCE:
        return None
    status = "failed" if queue in ("FAILED", "OUT_OF_MEMORY") else "interrupted"
    record(job.directory, status, None, f"the cluster ended it and it said nothing ({queue})")
    return status
