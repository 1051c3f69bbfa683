"""Jobs a few at a time, on CPUs or on each GPU; what fails is recorded and the rest goes on."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from posexp.status import record
from posexp.sweep.directory import claim_job
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.jobs import Job
from posexp.sweep.places import places
from posexp.sweep.process import JobProcess
from posexp.sweep.screen import Screen


class JobRunner:
    """Runs jobs, `n_jobs` at once, and passes the first interrupt on to them; a second one kills.

    The directories of the jobs belong to a sweep that this process has locked, so a job that left
    something there goes on from it.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self._n_jobs = n_jobs
        self._running: set[JobProcess] = set()
        self._guard = threading.Lock()
        self.stopped = False

    def run(self, jobs: Sequence[Job]) -> list[str]:
        """Run every job and return its status, "not started" for those after an interrupt."""
        slots: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
        environments = places(jobs, self._n_jobs)
        for environment in environments:
            slots.put(environment)
        with (
            Screen(jobs, len(environments)) as screen,
            self._signals(),
            ThreadPoolExecutor(len(environments)) as pool,
        ):
            futures = [pool.submit(self._one, job, slots, screen) for job in jobs]
            return [future.result() for future in futures]

    def _one(self, job: Job, slots: queue.SimpleQueue[dict[str, str]], screen: Screen) -> str:
        environment = slots.get()
        process = JobProcess(job, environment, wait=True)
        try:
            with self._guard:
                if self.stopped:
                    return "not started"
                self._running.add(process)
            screen.start(job)
            claim_job(job, resume=True)
            status = process.run(lambda line: screen.say(job, line))
            screen.end(job, status)
            return status
        except DirectoryInUseError as error:
            screen.end(job, str(error))
            return "failed"
        except Exception as error:  # of a full disk, say: the other jobs go on
            record(job.directory, "failed", None, f"it could not be started: {error}")
            screen.end(job, f"failed: {error}")
            return "failed"
        finally:
            with self._guard:
                self._running.discard(process)
            slots.put(environment)

    def _interrupt(self, number: int, frame: Any) -> None:
        # No lock here: a signal handler may run while this very thread holds it.
        again, self.stopped = self.stopped, True
        for process in list(self._running):
            process.kill() if again else process.interrupt()
        text = "killing the jobs" if again else "the running jobs save and stop; again to kill them"
        os.write(sys.__stderr__.fileno(), f"\nposexp: interrupted: {text}\n".encode())

    @contextmanager
    def _signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, self._interrupt) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
