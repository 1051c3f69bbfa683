"""Which jobs may be compared, in what order, and what their differences are worth.

Jobs are compared where they were scored on the same targets after training at the same length. A
*setting* is what differs in more than the seed; its seeds are all kept and never picked from.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from posexp.evaluation.statistics import Difference, paired_difference
from posexp.report.jobs import SEEDS, Job
from posexp.report.labels import labels, settings
from posexp.report.ranking import mean_reciprocal_rank, ranks
from posexp.report.seeds import SeedSummary, summarize


@dataclass(frozen=True)
class Setting:
    """The jobs that differ in their seeds alone."""

    label: str
    jobs: tuple[Job, ...]

    def diverged(self, length: int | None) -> bool:
        """Whether any seed diverged in training or at `length`: then there is no mean to rank."""
        return any(job.diverged(length) for job in self.jobs)

    def summary(self, length: int | None, kind: str = "anchored") -> SeedSummary | None:
        """The loss at `length` over the seeds that have one."""
        values = [job.loss(length, kind) for job in self.jobs]
        return summarize([value for value in values if value is not None])

    def ranked_loss(self, length: int | None) -> float | None:
        """The mean over seeds; None where one of them diverged, or none has a number."""
        summary = self.summary(length)
        return None if summary is None or self.diverged(length) else summary.mean


@dataclass(frozen=True)
class Comparison:
    """Settings that share targets and T, best first; diverged after those, then no result."""

    settings: tuple[Setting, ...]
    context_length: int | None
    lengths: tuple[int, ...]
    ngram: dict[str, float] = field(default_factory=dict)

    @property
    def jobs(self) -> list[Job]:
        """Every job, in the order of the table."""
        return [job for setting in self.settings for job in setting.jobs]

    @property
    def evaluated(self) -> Job | None:
        """A job whose evaluation and facts describe the whole comparison."""
        return next((job for job in self.jobs if job.evaluation), None)

    @property
    def seeds(self) -> int:
        """The most seeds that a setting has."""
        return max(len(setting.jobs) for setting in self.settings)

    def ranks(self, length: int | None = None) -> dict[str, int]:
        """Label -> rank at `length` (T by default), of settings that have a loss or diverged."""
        length = self.context_length if length is None else length
        return ranks(
            {
                setting.label: setting.ranked_loss(length)
                for setting in self.settings
                if setting.diverged(length) or setting.summary(length)
            }
        )

    def mean_reciprocal_ranks(self) -> dict[str, float | None]:
        """Label -> mean of 1/rank over the lengths, 0 at a length without a loss to rank."""
        tables = [
            {s.label: table[s.label] for s in self.settings if s.ranked_loss(length) is not None}
            for length in self.lengths
            if (table := self.ranks(length))
        ]
        return {s.label: mean_reciprocal_rank(tables, s.label) for s in self.settings}

    def best(self, length: int | None) -> Setting | None:
        """The setting of the lowest mean loss at `length`."""
        losses = [(s.ranked_loss(length), s) for s in self.settings]
        numbers = [(loss, s) for loss, s in losses if loss is not None]
        return min(numbers, key=lambda pair: pair[0])[1] if numbers else None

    @cached_property
    def differences(self) -> dict[int, dict[str, Difference]]:
        """Length -> job name -> the job's loss minus the best setting's at the *same seed*.

        Paired anchor by anchor, so only where both have their anchors.
        """
        return {length: self._differences(length) for length in self.lengths}

    def _differences(self, length: int) -> dict[str, Difference]:
        best = self.best(length)
        partners = {_seeds(job): job for job in best.jobs} if best else {}
        pairs = {job.name: (job, partners.get(_seeds(job))) for job in self.jobs}
        found = {
            name: _paired(job, partner, length)
            for name, (job, partner) in pairs.items()
            if partner is not None and partner is not job
        }
        return {name: difference for name, difference in found.items() if difference}


def compare(jobs: Sequence[Job]) -> list[Comparison]:
    """The comparisons within a sweep, in the order of its jobs.

    Jobs without a config say nothing of where they belong: they join the first comparison.
    """
    groups: dict[tuple[str, ...], list[Job]] = defaultdict(list)
    for job in sorted(jobs, key=lambda job: not job.config):
        key = _scored_on(job) if job.config else next(iter(groups), ())
        groups[key].append(job)
    return [_comparison(group) for group in groups.values()]


def _comparison(jobs: list[Job]) -> Comparison:
    named = labels(jobs)
    by_setting: dict[tuple, list[Job]] = defaultdict(list)
    for job in jobs:
        key = (named[job.name], *sorted(settings(job).items()))
        by_setting[key].append(job)
    context_length = next((job.context_length for job in jobs if job.context_length), None)
    found = [Setting(key[0], tuple(sorted(group, key=_seeds))) for key, group in by_setting.items()]

    def order(setting: Setting) -> tuple[int, float]:
        loss = setting.ranked_loss(context_length)
        if loss is not None:
            return (0, loss)
        return (1 if setting.diverged(context_length) else 2, math.inf)

    return Comparison(
        settings=tuple(sorted(found, key=order)),
        context_length=context_length,
        lengths=tuple(sorted({length for job in jobs for length in job.losses()})),
    )


def _paired(job: Job, partner: Job, length: int) -> Difference | None:
    """The paired difference, None where there is no such number."""
    if job.loss(length) is None or partner.loss(length) is None:
        return None
    if job.diverged(length) or job.anchors is None or partner.anchors is None:
        return None
    try:
        difference = paired_difference(job.anchors, partner.anchors, f"anchored_{length}")
    except (KeyError, ValueError):  # other anchors, or none at this length
        return None
    return difference if math.isfinite(difference.bits_per_byte) else None


def _scored_on(job: Job) -> tuple[str, ...]:
    flat = settings(job)
    fields = ("data.name", "data.path", "trainer.context_length", "evaluation.split")
    scored = ("evaluation.lengths", "evaluation.targets", "evaluation.anchors")
    masked = flat.get("objective.rate", "null")  # as a job of before there was a choice
    return (job.objective, masked, *(flat.get(key, "") for key in (*fields, *scored)))


def _seeds(job: Job) -> tuple[int, ...]:
    return tuple(job.facts.get(key) or 0 for key in SEEDS)
