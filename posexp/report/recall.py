"""A task's accuracy beside the losses: at T and at the longest length, where a job has a task."""

from __future__ import annotations

from dataclasses import dataclass

from posexp.report.comparison import Comparison
from posexp.report.jobs import Job
from posexp.report.seeds import estimate
from posexp.report.setting import Setting


@dataclass(frozen=True)
class Recall:
    """One column of the table: the accuracy of one task at one length."""

    task: str
    length: int

    def accuracy(self, job: Job) -> float | None:
        """Over all distances of this length; None for another task, or where there is none."""
        return self._entry(job).get("accuracy")

    def cell(self, job: Job) -> str:
        """The accuracy, or why there is none."""
        entry = self._entry(job)
        if not entry:
            return ""
        accuracy = entry["accuracy"]
        return (
            {"diverged": "-"}.get(entry["status"], "n/a") if accuracy is None else _text(accuracy)
        )

    def mean(self, setting: Setting) -> str:
        """The mean over the seeds that have one."""
        values = [a for job in setting.jobs if (a := self.accuracy(job)) is not None]
        found = estimate(values)
        return "" if found is None else _text(found.mean)

    def _entry(self, job: Job) -> dict:
        return job.recalled().get(self.length, {}) if job.task.get("name") == self.task else {}


def recalls(comparison: Comparison) -> list[Recall]:
    """The columns that a comparison has: none where no job has a task."""
    tasks = dict.fromkeys(job.task["name"] for job in comparison.jobs if job.task)
    lengths = sorted({n for job in comparison.jobs for n in job.recalled()})
    shown = [n for n in lengths if n == comparison.context_length or n == lengths[-1]]
    return [Recall(task, length) for task in tasks for length in shown]


def notes(comparison: Comparison) -> list[str]:
    """What a reader must know of each task, one line a task."""
    found = {job.task["name"]: job.task for job in comparison.jobs if job.task}
    return [
        f"{name}: accuracy of the most likely token, over all distances of a length; "
        f"{task['windows']} windows a distance, chance {_text(task['chance'])}; not ranked."
        for name, task in found.items()
    ]


def _text(share: float) -> str:
    return f"{share:.2f}"
