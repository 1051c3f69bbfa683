"""What the launcher shows while jobs run: on a terminal a line for each and a total, else lines."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from posexp.sweep.jobs import ENDED, Job
from posexp.sweep.progress import Progress, parse
from posexp.sweep.remaining import Course, Remaining, remaining
from posexp.sweep.units import duration


class Screen:
    """Shows `jobs`, `at_once` of which run at the same time.

    On a terminal only what a job says of itself besides its steps scrolls by. Elsewhere every line
    is printed with the job's number before it, and the total after each job.
    """

    def __init__(self, jobs: Sequence[Job], at_once: int, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stdout, highlight=False)
        self._total, self._at_once = len(jobs), at_once
        self._guard = threading.Lock()
        self._running: dict[str, Course] = {}
        self._done: list[Course] = []
        self._numbers: dict[str, int] = {}
        self._ended = 0
        self._live: Live | None = None
        if self._console.is_terminal:
            self._live = Live(
                console=self._console, get_renderable=self._table, refresh_per_second=2
            )

    def __enter__(self) -> Screen:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def start(self, job: Job) -> None:
        """`job` begins."""
        with self._guard:
            self._running[job.name] = Course(time.monotonic())
            self._numbers[job.name] = len(self._numbers) + 1
            self._print(f"{self._count(job)} {job.name} starts")

    def say(self, job: Job, line: str) -> None:
        """`job` printed `line`."""
        progress = parse(line)
        with self._guard:
            if progress is not None:
                self._running[job.name].tell(progress, time.monotonic())
            if progress is None or self._live is None:
                self._print(f"{job.label} | {line}")

    def end(self, job: Job, how: str) -> None:
        """`job` is over, as `how` says."""
        with self._guard:
            course = self._running.pop(job.name, None)
            if course is not None and how in ENDED:
                course.ended = time.monotonic()
                self._done.append(course)
            self._ended += 1
            self._print(f"{self._count(job)} {job.name} {how}")
            if self._live is None and self._ended < self._total > 1:
                self._print(f"posexp: {self._summary()}")

    def left(self) -> Remaining | None:
        """Until the last job ends; None at first."""
        running = list(self._running.values())
        waiting = self._total - self._ended - len(running)
        return remaining(self._done, running, waiting, self._at_once, time.monotonic())

    def _count(self, job: Job) -> str:
        return f"[{self._numbers[job.name]}/{self._total}]"

    def _summary(self) -> str:
        left = self.left()
        waiting = self._total - self._ended - len(self._running)
        parts = [f"{self._ended} of {self._total} jobs over", f"{len(self._running)} running"]
        parts += [f"{waiting} queued"] if waiting else []
        if left is not None:
            # No job of this sweep has shown yet how long its evaluation takes.
            without = "" if left.evaluation else " and the evaluations"
            parts.append(f"about {duration(left.seconds)}{without} left")
        return ", ".join(parts)

    def _table(self) -> Group:
        # Without the guard: whoever prints holds it, and waits for whoever draws.
        table = Table.grid(padding=(0, 2))
        for name, course in list(self._running.items()):
            table.add_row(Text(name), *_cells(course.told))
        return Group(table, Text(self._summary()))

    def _print(self, text: str) -> None:
        if self._live is None:
            print(text, flush=True)
        else:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _cells(progress: Progress | None) -> tuple[str, ...]:
    if progress is None:
        return ("starting",)
    loss = "" if progress.loss is None else f"loss {progress.loss:.3f}"
    step = f"step {progress.step}/{progress.steps}"
    return (f"{progress.share:4.0%}", step, loss, "evaluation" if progress.share == 1 else "")
