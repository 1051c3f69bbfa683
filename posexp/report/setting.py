"""A setting: the jobs that differ in their seeds alone."""

from __future__ import annotations

from dataclasses import dataclass

from posexp.report.estimate import Estimate
from posexp.report.jobs import Job
from posexp.report.seeds import estimate


@dataclass(frozen=True, eq=False)  # one object a setting: jobs hold dicts, which have no hash
class Setting:
    """The jobs that differ in their seeds alone."""

    label: str
    jobs: tuple[Job, ...]

    @property
    def scheme(self) -> str:
        """The name of the scheme, or the label where no job says."""
        return next((s for job in self.jobs if (s := job.facts.get("scheme"))), self.label)

    def diverged(self, length: int | None) -> bool:
        """Whether any seed diverged in training or at `length`: then there is no mean to rank."""
        return any(job.diverged(length) for job in self.jobs)

    def summary(self, length: int | None, kind: str = "anchored") -> Estimate | None:
        """The loss at `length` over the seeds that have one."""
        values = [job.loss(length, kind) for job in self.jobs]
        return estimate([value for value in values if value is not None])

    def ranked_loss(self, length: int | None) -> float | None:
        """The mean over seeds; None where one of them diverged, or none has a number."""
        values = [v for job in self.jobs if (v := job.loss(length)) is not None]
        return sum(values) / len(values) if values and not self.diverged(length) else None
