"""What runs on a node of a cluster: one job of a sweep, saved before it loses its place."""

from __future__ import annotations

import signal
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from posexp.sweep.jobs import Job
from posexp.sweep.process import JobProcess

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission


class ClusterJob:
    """One job in a process tree of its own; submitit calls it, and pickles it in between.

    submitit's signal says that the time is nearly up or that another job takes the place: the job
    then finishes its step, saves, and goes back into the queue, to go on from there.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._process: JobProcess | None = None
        self._running: Future[str] | None = None

    def __call__(self) -> str:
        """Train, or go on from the last checkpoint, and return the status."""
        # Back from the queue, it may meet what is left of its last stay on the same node.
        self._process = JobProcess(self.job, wait=True)
        # In a thread, so that submitit's signal, which is handled in the main one, can wait for it.
        with ThreadPoolExecutor(1, initializer=_block_signal) as pool:
            self._running = pool.submit(self._process.run, lambda line: print(line, flush=True))
            return self._running.result()

    def checkpoint(self) -> DelayedSubmission:
        """Let the job save and end; what submitit is to run when the job's turn comes again."""
        from submitit.helpers import DelayedSubmission

        if self._process is not None:
            self._process.interrupt()
        if self._running is not None:
            self._running.result()
        return DelayedSubmission(type(self)(self.job))


def _block_signal() -> None:
    """Keep submitit's signal from the processes that this thread starts: they inherit the mask.

    Slurm sends it to every process of a job, and one that does not handle it would die of it.
    """
    from submitit import JobEnvironment

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.Signals[f"SIG{JobEnvironment.USR_SIG}"]])
