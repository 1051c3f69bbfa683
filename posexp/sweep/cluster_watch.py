"""Jobs of a cluster watched from outside: what the queue says, and what they say themselves."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from posexp.status import ENDED, read_status, record
from posexp.sweep.jobs import Job
from posexp.sweep.units import duration

#: Seconds between looks at the queue.
EVERY = 5.0
#: Looks after which a job is given up that left the queue without a word about how it ended. The
#: files of another node may be seen here a minute late.
PATIENCE = 12
#: Seconds without an answer after which the queue is not asked any more. Its controller is started
#: again, or another takes over, within minutes.
SILENCE = 600.0

# From squeue(1); a job in any other state waits, runs, or is about to go on.
GONE = "GONE"  # long ended: Slurm has forgotten it
ENDED_STATES = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"),
    *("TIMEOUT", GONE),
}
UNKNOWN = "UNKNOWN"  # the queue does not answer
_SETTLED = (*ENDED, "failed", "interrupted")


class ClusterSilentError(ValueError):
    """The queue does not answer; the message is why."""


def watch(jobs: Sequence[Job], places: Mapping[str, Any]) -> None:
    """Print every change of state until all jobs have ended; `places` are submitit's, by name.

    Raises `ClusterSilentError` if the queue has not answered for `SILENCE` seconds.
    """
    told: dict[str, str] = {}
    silent: Counter[str] = Counter()
    silence = _Silence()
    waiting = list(jobs)
    while waiting:
        try:
            states = _look(places)
            silence.end()
        except ClusterSilentError as error:
            silence.go_on(error)
            states = dict.fromkeys(places, UNKNOWN)
        for job in waiting:
            now = _state(job, states[job.name], silent)
            if now is not None and told.get(job.name) != now:
                told[job.name] = now
                print(f"{job.name} {now} ({places[job.name].job_id})", flush=True)
        waiting = [job for job in waiting if told.get(job.name) not in _SETTLED]
        if waiting:
            time.sleep(EVERY)


class _Silence:
    """How long the queue has not answered."""

    def __init__(self) -> None:
        self._since: float | None = None

    def go_on(self, error: ClusterSilentError) -> None:
        """It did not answer, because of `error`, which is raised in the end."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
            print(f"posexp: the cluster does not answer, asking again: {error}", flush=True)
        elif now - self._since > SILENCE:
            raise ClusterSilentError(f"{error}, for {duration(now - self._since)}") from error

    def end(self) -> None:
        """It answered."""
        if self._since is not None:
            print("posexp: the cluster answers again", flush=True)
        self._since = None


def squeue() -> dict[str, str]:
    """Slurm's id -> state of the user's jobs; an array's are `17_0`, `17_1`.

    `sacct`, which submitit asks, knows nothing on a cluster that keeps no accounts. Raises
    `ClusterSilentError` where there is no answer.
    """
    command = ["squeue", "--me", "--noheader", "--array", "--states=all", "--format=%i %T"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise ClusterSilentError(f"squeue: {_why(error)}") from error
    return dict(line.split() for line in answer.stdout.splitlines())


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer within {error.timeout:.0f} s"
    if isinstance(error, subprocess.CalledProcessError):
        said = [line.strip() for line in error.stderr.splitlines() if line.strip()]
        return said[-1].removeprefix("squeue: ") if said else f"exit code {error.returncode}"
    return str(error)


def _look(places: Mapping[str, Any]) -> dict[str, str]:
    from submitit import LocalJob

    if all(isinstance(place, LocalJob) for place in places.values()):
        return {n: GONE if place.done() else "RUNNING" for n, place in places.items()}
    queue = squeue()
    return {name: queue.get(place.job_id, GONE) for name, place in places.items()}


def _state(job: Job, queue: str, silent: Counter[str]) -> str | None:
    """What to tell of a job; None while nothing is known."""
    if queue == UNKNOWN:
        # An interrupted one may be on its way back into the queue.
        said = read_status(job.directory)["status"]
        return str(said) if said in (*ENDED, "failed") else None
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
