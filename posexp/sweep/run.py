"""Jobs one after the other, or one on each GPU; what fails is recorded and the rest goes on."""

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

from posexp.sweep.directory import DirectoryInUseError, claim_job
from posexp.sweep.jobs import Job, last_traceback, read_status
from posexp.sweep.process import JobProcess


class JobRunner:
    """Runs jobs and passes the first interrupt on to them; a second one kills."""

    def __init__(self, total: int, first: int = 0, resume: bool = False) -> None:
        self._total = total
        self._first = first
        self._resume = resume
        self._running: set[JobProcess] = set()
        self._guard = threading.Lock()
        self._print_guard = threading.Lock()
        self.stopped = False

    def run(self, jobs: Sequence[Job]) -> list[str]:
        """Run every job and return its status, "not started" for those after an interrupt."""
        slots: queue.SimpleQueue[dict[str, str]] = queue.SimpleQueue()
        environments = device_slots(jobs)
        for environment in environments:
            slots.put(environment)
        with self._signals(), ThreadPoolExecutor(len(environments)) as pool:
            numbered = enumerate(jobs, start=self._first)
            futures = [pool.submit(self._one, number, job, slots) for number, job in numbered]
            return [future.result() for future in futures]

    def _one(self, number: int, job: Job, slots: queue.SimpleQueue[dict[str, str]]) -> str:
        environment = slots.get()
        process = JobProcess(job, environment)
        try:
            with self._guard:
                if self.stopped:
                    return "not started"
                self._running.add(process)
            claim_job(job, resume=self._resume)
            self._say(f"[{number + 1}/{self._total}] {job.name} starts")
            status = process.run(lambda line: self._say(f"{number} | {line}"))
            self._say(f"[{number + 1}/{self._total}] {job.name} {status}")
            return status
        except DirectoryInUseError as error:
            self._say(f"[{number + 1}/{self._total}] {error}")
            return "failed"
        finally:
            with self._guard:
                self._running.discard(process)
            slots.put(environment)

    def _say(self, text: str) -> None:
        with self._print_guard:
            print(text, flush=True)

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


def device_slots(jobs: Sequence[Job]) -> list[dict[str, str]]:
    """The environment of every place where a job can run at the same time as others.

    On CPUs, or where a job wants several devices, one job runs at a time. Else each visible GPU
    is a place of its own.
    """
    on_gpu = all(job.config["trainer"]["accelerator"] in ("gpu", "cuda") for job in jobs)
    if not on_gpu or any(job.devices > 1 for job in jobs):
        return [{}]
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        import torch

        visible = ",".join(map(str, range(torch.cuda.device_count())))
    names = [name.strip() for name in visible.split(",") if name.strip()]
    if len(names) < 2:
        return [{}]
    return [{"CUDA_VISIBLE_DEVICES": name} for name in names[: len(jobs)]]


def failure_summary(jobs: Sequence[Job]) -> str:
    """For every failed job: its name, its error, its log and the traceback in it."""
    parts = []
    for job in jobs:
        status = read_status(job.directory)
        if status["status"] != "failed":
            continue
        traceback = last_traceback(job.log)
        parts.append(f"{job.name} failed: {status['error']}\n  log: {job.log}")
        if traceback:
            parts.append("\n".join(f"  {line}" for line in traceback.splitlines()))
    return "\n".join(parts)
