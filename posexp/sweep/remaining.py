"""How long the jobs of a sweep still take, from what the running ones say and the ended ones took.

A job says how long its training still takes. What comes after it (the evaluation, the figures) is
known once a job of the sweep has done it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from statistics import mean

from posexp.sweep.progress import Progress


@dataclasses.dataclass
class Course:
    """One job that was started, all times in seconds of one clock."""

    began: float
    told: Progress | None = None
    told_at: float | None = None
    #: When its last step was done.
    trained: float | None = None
    ended: float | None = None

    def tell(self, progress: Progress, now: float) -> None:
        """The job told its progress."""
        self.told_at, self.told = now, progress  # in this order: others read meanwhile
        if self.trained is None and progress.step >= progress.steps:
            self.trained = now

    def training(self, now: float) -> float | None:
        """Seconds until its last step is done, None as long as it has not said so."""
        if self.trained is not None:
            return 0.0
        if self.told is None or self.told.left is None:
            return None
        return max(0.0, self.told.left - (now - self.told_at))


@dataclasses.dataclass(frozen=True)
class Remaining:
    """Seconds until the last job has ended; whether they hold what comes after the training."""

    seconds: float
    evaluation: bool


def remaining(
    done: Sequence[Course], running: Sequence[Course], waiting: int, at_once: int, now: float
) -> Remaining | None:
    """What is left after `done`, the jobs that came to their end; None while nothing is known."""
    after = [course.ended - course.trained for course in done if course.trained is not None]
    later = mean(after) if after else 0.0
    whole = mean(course.ended - course.began for course in done) if done else None
    left: list[float | None] = []
    for course in running:
        training = course.training(now)
        if training is None:
            left.append(None)
        elif course.trained is None:
            left.append(training + later)
        else:
            left.append(max(0.0, later - (now - course.trained)))
    if whole is None:
        # As long as no job has ended, the rest goes as those that run.
        known = [
            now - course.began + seconds
            for course, seconds in zip(running, left, strict=True)
            if seconds is not None
        ]
        if not known:
            return None
        whole = mean(known)
    each = [
        max(0.0, whole - (now - course.began)) if seconds is None else seconds
        for course, seconds in zip(running, left, strict=True)
    ]
    total = max([*each, (sum(each) + waiting * whole) / at_once], default=0.0)
    return Remaining(total, evaluation=bool(after))
