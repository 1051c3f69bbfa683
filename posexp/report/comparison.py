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

import numpy as np

from posexp.evaluation.statistics import Difference, paired, standard_error
from posexp.registry import nearest
from posexp.report.contrasts import contrasts
from posexp.report.estimate import Contrast
from posexp.report.grid import choose_on_val
from posexp.report.jobs import Job
from posexp.report.labels import by_setting, seeds_of
from posexp.report.ranking import mean_reciprocal_rank, ranks
from posexp.report.setting import Setting
from posexp.report.study import Grid
from posexp.report.targets import targets


@dataclass(frozen=True)
class Comparison:
    """Settings that share targets and T, best first; diverged after those, then no result.

    `aside` are the points of `grid` that were not chosen. `chosen` is the label of the baseline
    that was asked for, None for the best at T.
    """

    settings: tuple[Setting, ...]
    context_length: int | None
    lengths: tuple[int, ...]
    ngram: dict[str, float] = field(default_factory=dict)
    aside: tuple[Setting, ...] = ()
    grid: Grid | None = None
    chosen: str | None = None

    @property
    def jobs(self) -> list[Job]:
        """Every job that is compared, in the order of the table."""
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
        return self._ranks[length] if length in self._ranks else self._ranks_at(length)

    @cached_property
    def _ranks(self) -> dict[int | None, dict[str, int]]:
        return {n: self._ranks_at(n) for n in {*self.lengths, self.context_length}}

    def _ranks_at(self, length: int | None) -> dict[str, int]:
        losses = {s.label: s.ranked_loss(length) for s in self.settings}
        diverged = {s.label for s in self.settings if s.diverged(length)}
        return ranks({k: v for k, v in losses.items() if v is not None or k in diverged})

    @cached_property
    def reciprocal_ranks(self) -> dict[str, float | None]:
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
    def baseline(self) -> Setting | None:
        """What every other setting is compared with: the one asked for, or the best at T."""
        if self.chosen is None:
            return self.best(self.context_length)
        return next(s for s in self.settings if s.label == self.chosen)

    @cached_property
    def differences(self) -> dict[int, dict[str, Difference]]:
        """Length -> job name -> the job's loss minus the baseline's at the *same seed*.

        Paired anchor by anchor, so only where both have their anchors.
        """
        return {
            length: {
                job.name: Difference(
                    float(values.mean()),
                    standard_error(values, job.anchors["document"]),
                    len(values),
                )
                for setting in self.settings
                for job, values in self.pairs(setting, length)
            }
            for length in self.lengths
        }

    @cached_property
    def contrasts(self) -> dict[int, dict[str, Contrast]]:
        """Length -> label -> what its mean over seeds differs from the baseline's by."""
        return {length: contrasts(self, length) for length in self.lengths}

    def pairs(self, setting: Setting, length: int) -> list[tuple[Job, np.ndarray]]:
        """The jobs of `setting` that have the baseline's job of the same seed beside them.

        Each with its per-anchor loss minus the baseline's, (anchors,) bits. Empty for the baseline.
        """
        if self.baseline is None or setting is self.baseline:
            return []
        partners = {seeds_of(job): job for job in self.baseline.jobs}
        found = [
            (job, _paired(job, partner, length))
            for job in setting.jobs
            if (partner := partners.get(seeds_of(job))) is not None
        ]
        return [(job, values) for job, values in found if values is not None]


def compare(jobs: Sequence[Job], baseline: str | None = None) -> list[Comparison]:
    """The comparisons within a sweep, in the order of its jobs.

    Jobs without a config say nothing of where they belong: they join the first comparison.
    `baseline` is a setting's label, or the name of a scheme that one setting has; comparisons
    without it keep the best at T. Raises `ValueError` where none has it.
    """
    groups: dict[tuple[str, ...], list[Job]] = defaultdict(list)
    scored_on = targets(jobs)
    for job in sorted(jobs, key=lambda job: not job.config):
        key = scored_on[job.name] if job.config else next(iter(groups), ())
        groups[key].append(job)
    found = [_comparison(group, baseline) for group in groups.values()]
    if baseline is not None and all(comparison.chosen is None for comparison in found):
        known = list(dict.fromkeys(s.label for c in found for s in c.settings))
        raise ValueError(
            f"there is no setting {baseline!r} to be the baseline{nearest(baseline, known)}; "
            f"choose from {', '.join(known)}"
        )
    return found


def _comparison(jobs: list[Job], baseline: str | None) -> Comparison:
    context_length = next((job.context_length for job in jobs if job.context_length), None)
    found = [Setting(label, tuple(of_setting)) for label, of_setting in by_setting(jobs)]
    kept, aside, grid = choose_on_val(found)

    def order(setting: Setting) -> tuple[int, float]:
        loss = setting.ranked_loss(context_length)
        if loss is not None:
            return (0, loss)
        return (1 if setting.diverged(context_length) else 2, math.inf)

    return Comparison(
        settings=tuple(sorted(kept, key=order)),
        context_length=context_length,
        lengths=tuple(sorted({length for job in jobs for length in job.losses()})),
        aside=tuple(aside),
        grid=grid,
        chosen=None if baseline is None else _named(baseline, kept),
    )


def _named(baseline: str, found: Sequence[Setting]) -> str | None:
    """The label that `baseline` means: itself, or that of the only setting of a scheme."""
    if any(s.label == baseline for s in found):
        return baseline
    of_scheme = [s.label for s in found if s.scheme == baseline]
    return of_scheme[0] if len(of_scheme) == 1 else None


def _paired(job: Job, partner: Job, length: int) -> np.ndarray | None:
    """The paired differences, None where there are no such numbers."""
    if job.loss(length) is None or partner.loss(length) is None:
        return None
    if job.diverged(length) or partner.diverged(length):
        return None
    if job.anchors is None or partner.anchors is None:
        return None
    try:
        values = paired(job.anchors, partner.anchors, f"anchored_{length}")
    except (KeyError, ValueError):  # other anchors, or none at this length
        return None
    return values if np.isfinite(values).all() else None
