"""One job in a fresh tree of processes, its output kept and shown.

Lightning's DDP children replay the command that started them, and a second job in the same process
inherits the first one's process group: so no two jobs ever share a process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import BinaryIO

from posexp.files import write_json
from posexp.sweep.directory import DirectoryInUseError
from posexp.sweep.jobs import ENDED, Job, last_line, read_status

JOB_MODULE = "posexp.job"

# What another launcher, a notebook or an outer job leaves behind and a job would believe.
_FOREIGN_PREFIXES = ("TORCHELASTIC_", "MASTER_", "PL_GLOBAL_SEED", "PET_")
_FOREIGN = {
    *("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "ROLE_RANK", "ROLE_NAME"),
    *("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"),
    *("WANDB_RUN_ID", "WANDB_RESUME"),  # every job is a tracked run of its own
}


class JobProcess:
    """The running processes of one job; `run` blocks, `interrupt` and `kill` may come from outside.

    Raises `DirectoryInUseError` from `run` if another process is at work in the directory.
    """

    def __init__(self, job: Job, environment: dict[str, str] | None = None) -> None:
        self.job = job
        self._environment = environment or {}
        self._process: subprocess.Popen[bytes] | None = None
        self._stop: signal.Signals | None = None

    def run(self, show: Callable[[str], None]) -> str:
        """Train, give each line of output to `show`, and return the final status."""
        started = time.monotonic()
        with self.job.log.open("ab") as log:
            lock(log, self.job)
            with subprocess.Popen(
                _command(self.job),
                env=self._clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # Its own session: a Ctrl-C in the terminal reaches the sweep alone, which passes
                # it on once. The inherited log keeps the lock for as long as the job lives.
                start_new_session=True,
                pass_fds=(log.fileno(),),
            ) as self._process:
                if self._stop is not None:  # interrupted between the decision and the start
                    self._signal(self._stop)
                assert self._process.stdout is not None
                reader = threading.Thread(
                    target=_copy, args=(self._process.stdout, log, show), daemon=True
                )
                reader.start()
                returncode = self._process.wait()
                # A loader worker that outlived its job would keep the pipe open for ever.
                self._signal(signal.SIGKILL)
                reader.join()
        return self._settle(returncode, time.monotonic() - started)

    def interrupt(self) -> None:
        """Ask the job to save and stop, as Ctrl-C does."""
        self._stop = signal.SIGINT
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Stop the job at once; what it did since its last checkpoint is lost."""
        self._stop = signal.SIGKILL
        self._signal(signal.SIGKILL)

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
        return {**kept, "PYTHONUNBUFFERED": "1", **self.job.environment, **self._environment}

    def _settle(self, returncode: int, seconds: float) -> str:
        """Record the end of a job that could not do it itself (killed, out of memory)."""
        found = read_status(self.job.directory)
        said = found["status"]
        if returncode == 0 and said in ENDED:
            return said
        if returncode != 0 and said in ("failed", "interrupted"):
            return said
        stopped = self._stop is not None
        error = _death(returncode) or last_line(self.job.log)
        status = {
            "status": "interrupted" if stopped else "failed",
            "returncode": returncode,
            "seconds": round(seconds, 2),
            "error": error or f"the process ended with exit code {returncode}",
        }
        write_json(self.job.directory / "status.json", {**found, **status})
        return status["status"]


def lock(log: BinaryIO, job: Job) -> None:
    """Hold `job`'s log for as long as it is open here or in a child.

    Raises `DirectoryInUseError` if another process holds it.
    """
    try:
        fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DirectoryInUseError(f"{job.directory}: another process is training in it") from error


def _command(job: Job) -> list[str]:
    module = ["-m", JOB_MODULE, str(job.directory)]
    if job.devices == 1:
        return [sys.executable, *module]
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={job.devices}"]
    return [sys.executable, *torchrun, *module]


def _copy(pipe: BinaryIO, log: BinaryIO, show: Callable[[str], None]) -> None:
    for line in pipe:
        log.write(line)
        log.flush()
        # A progress bar repaints its line with carriage returns: only its last state is shown.
        show(line.decode(errors="replace").rstrip("\r\n").rpartition("\r")[2])


def _death(returncode: int) -> str | None:
    if returncode >= 0:
        return None
    name = signal.Signals(-returncode).name
    likely = " (out of memory?)" if name == "SIGKILL" else ""
    return f"the process was ended by {name}{likely}"
