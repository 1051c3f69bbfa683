"""One job in a fresh tree of processes, its output kept and shown.

Lightning's DDP children replay the command that started them, and a second job in the same process
inherits the first one's process group: so no two jobs ever share a process.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from posexp import lifeline
from posexp.status import begin, failed_rank, record
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.jobs import (
    ENDED,
    Job,
    attempt_line,
    is_at_work,
    last_attempt,
    last_line,
    read_status,
    works_elsewhere,
)
from posexp.sweep.locks import lock

JOB_MODULE = "posexp.job"
POLL = 0.1  # seconds between looks at the log

# What another launcher, a notebook or an outer job leaves behind and a job would believe.
_FOREIGN_PREFIXES = (
    *("TORCHELASTIC_", "MASTER_", "PL_GLOBAL_SEED", "PET_"),
    *("SLURM_", "SUBMITIT_"),  # Lightning would take Slurm's tasks for its ranks
)
_FOREIGN = {
    *("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME"),
    *("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"),
    *("WANDB_RUN_ID", "WANDB_RESUME"),  # every job is a tracked run of its own
}


class JobProcess:
    """The running processes of one job; `run` blocks, `interrupt` and `kill` may come from outside.

    A job that outlived an earlier launcher is waited for. Raises `DirectoryInUseError` from `run`
    if another process is at work in the directory and `wait` is false.
    """

    def __init__(
        self, job: Job, environment: dict[str, str] | None = None, wait: bool = False
    ) -> None:
        self.job = job
        self._environment = environment or {}
        self._wait = wait
        self._process: subprocess.Popen[bytes] | None = None
        self._stop: signal.Signals | None = None

    def run(self, show: Callable[[str], None]) -> str:
        """Train, give each line of output to `show`, and return the final status."""
        with self.job.log.open("ab") as log:
            if self._wait and is_at_work(self.job.directory):
                where = works_elsewhere(self.job.directory)
                why = f"running {where}" if where else "still stopping, since its launcher died"
                show(f"{why}: waiting for it")
            hold(log, self.job, self._may_wait)
            if self.job.ended:  # meanwhile
                return str(read_status(self.job.directory)["status"])
            attempt = begin(self.job.directory, log=self.job.log.name, **self.job.identity)
            if attempt > 1:
                log.write(f"\n{attempt_line(attempt)}".encode())
                log.flush()
            lines = _Lines(self.job.log, show)
            with subprocess.Popen(
                _command(self.job),
                env=self._clean_environment(),
                # The job watches its stdin: see posexp.lifeline.
                stdin=subprocess.PIPE,
                # The log itself, not a pipe: it is whole, and the job's lock on it holds, whatever
                # becomes of this process.
                stdout=log,
                stderr=subprocess.STDOUT,
                # Its own session: a Ctrl-C in the terminal reaches the sweep alone, which passes
                # it on once.
                start_new_session=True,
            ) as self._process:
                if self._stop is not None:  # interrupted between the decision and the start
                    self._signal(self._stop)
                returncode = self._follow(self._process, lines)
                # A loader worker that outlived its job would go on for ever.
                self._signal(signal.SIGKILL)
            lines.read(to_the_end=True)
            return self._settle(returncode)

    def interrupt(self) -> None:
        """Ask the job to save and stop, as Ctrl-C does."""
        self._stop = signal.SIGINT
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Stop the job at once; what it did since its last checkpoint is lost."""
        self._stop = signal.SIGKILL
        self._signal(signal.SIGKILL)

    def _follow(self, process: subprocess.Popen[bytes], lines: _Lines) -> int:
        while True:
            try:
                return process.wait(POLL)
            except subprocess.TimeoutExpired:
                lines.read()

    def _may_wait(self) -> bool:
        return self._wait and self._stop is None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _clean_environment(self) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if key not in _FOREIGN and not key.startswith(_FOREIGN_PREFIXES)
        }
        if self.job.devices > 1:
            # torchrun would choose one thread a process and say so at length.
            kept.setdefault("OMP_NUM_THREADS", str(self.job.config["trainer"].get("threads") or 1))
        own = {"PYTHONUNBUFFERED": "1", lifeline.VARIABLE: "1"}
        return {**kept, **own, **self.job.environment, **self._environment}

    def _settle(self, returncode: int) -> str:
        """Record the end of a job that could not do it itself (killed, out of memory)."""
        directory = self.job.directory
        said = read_status(directory)["status"]
        if returncode == 0 and said in ENDED:
            return said
        # What the first rank says of itself is the consequence, where another one failed first.
        other = failed_rank(directory) or _killed_rank(self.job.log)
        if returncode != 0 and said in ("failed", "interrupted") and not (other and not self._stop):
            return said
        status = "interrupted" if self._stop is not None else "failed"
        cause = other or _cause(self.job.log, returncode)
        record(directory, status, returncode, cause)
        return status


def hold(log: BinaryIO, job: Job, waiting: Callable[[], bool] | None = None) -> None:
    """Hold `job`'s log for as long as it is open here or in a child.

    Where another process holds it, or another machine trains, wait for as long as `waiting()` says
    so. Raises `DirectoryInUseError` after that.
    """
    lock(log, f"{job.directory}: another process is training in it", waiting)
    while (where := works_elsewhere(job.directory)) is not None:
        if waiting is None or not waiting():
            raise DirectoryInUseError(f"{job.directory}: a process is training in it {where}")
        time.sleep(1)


class _Lines:
    """What is appended to a log, line by line."""

    def __init__(self, log: Path, show: Callable[[str], None]) -> None:
        self._log, self._show = log, show
        self._position = log.stat().st_size
        self._begun = b""

    def read(self, to_the_end: bool = False) -> None:
        for line in self._new(to_the_end):
            # A progress bar repaints its line with carriage returns: only its last state is shown.
            self._show(line.decode(errors="replace").rstrip("\r\n").rpartition("\r")[2])

    def _new(self, to_the_end: bool) -> Iterator[bytes]:
        with self._log.open("rb") as file:
            file.seek(self._position)
            found = file.read()
        self._position += len(found)
        *whole, self._begun = (self._begun + found).split(b"\n")
        yield from whole
        if to_the_end and self._begun:
            yield self._begun


def _command(job: Job) -> list[str]:
    module = ["-m", JOB_MODULE, str(job.directory)]
    if job.devices == 1:
        return [sys.executable, *module]
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={job.devices}"]
    return [sys.executable, *torchrun, *module]


def _cause(log: Path, returncode: int) -> str:
    """Why a job ended that could not say it."""
    if returncode < 0:
        return f"the process was ended by {_signal_name(-returncode)}"
    words = last_line(log)
    said = f"; the last it said: {words}" if words else " and said nothing"
    return f"the process ended with exit code {returncode}{said}"


def _killed_rank(log: Path) -> str | None:
    """The rank that a signal ended, in torchrun's words; it ends the others with SIGTERM."""
    found = re.findall(r"^\s*rank\s*: (\d+).*\n\s*exitcode\s*: -(\d+)", last_attempt(log), re.M)
    for rank, number in found:
        if int(number) != signal.SIGTERM:
            return f"the process of rank {rank} was ended by {_signal_name(int(number))}"
    return None


def _signal_name(number: int) -> str:
    likely = " (out of memory?)" if number == signal.SIGKILL else ""
    return f"{signal.Signals(number).name}{likely}"
