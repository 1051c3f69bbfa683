"""From a setting's jobs to its row: every figure that was measured, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from posexp.report.cells import change_cell, loss_cell
from posexp.report.comparison import Comparison
from posexp.report.fairness import unlike
from posexp.report.jobs import Job
from posexp.report.row import Cost, PositionPoint, Recalled, Row, SeedValue
from posexp.report.setting import Setting
from posexp.report.study import Differing
from posexp.report.training import training_curve


def make_rows(
    comparison: Comparison, differing: Sequence[Differing], look: Mapping[str, int]
) -> tuple[Row, ...]:
    """A row a setting, in the order of the comparison; `look` is label -> `Row.look`."""
    ranks = comparison.ranks()
    return tuple(
        _row(comparison, setting, look.get(setting.label), ranks.get(setting.label), differing)
        for setting in comparison.settings
    )


def outcome(jobs: Iterable[Job]) -> str:
    """How the jobs of a setting ended: one word, or the number of each."""
    counts: dict[str, int] = {}
    for job in jobs:
        counts[job.outcome] = counts.get(job.outcome, 0) + 1
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{n} {word}" for word, n in counts.items())


def _row(
    comparison: Comparison,
    setting: Setting,
    look: int | None,
    rank: int | None,
    differing: Sequence[Differing],
) -> Row:
    t, lengths = comparison.context_length, comparison.lengths
    beyond = [n for n in lengths if any(n in job.losses("foreign") for job in setting.jobs)]
    return Row(
        label=setting.label,
        scheme=setting.scheme,
        outcome=outcome(setting.jobs),
        rank=rank,
        mean_reciprocal_rank=comparison.reciprocal_ranks[setting.label],
        is_baseline=setting is comparison.baseline,
        look=look,
        losses={n: loss_cell(setting, n) for n in lengths},
        gains={
            n: change_cell(setting, ("anchored", t), ("anchored", n))
            for n in lengths
            if n != t and t
        },
        contrasts={n: comparison.contrasts[n][setting.label] for n in lengths},
        foreign={n: loss_cell(setting, n, "foreign") for n in beyond},
        content={n: change_cell(setting, ("foreign", n), ("anchored", n)) for n in beyond},
        damage={n: change_cell(setting, ("foreign", n), ("anchored", t)) for n in beyond if t},
        literature=_literature(setting.jobs),
        recalled=_recalled(setting),
        cost=_cost(setting.jobs),
        position=_position(setting.jobs),
        training=tuple(c for job in setting.jobs if (c := training_curve(job)) is not None),
        unlike=tuple(unlike(setting, comparison.baseline, differing)),
    )


def _literature(jobs: Sequence[Job]) -> dict[int, dict[str, float | None]]:
    lengths = sorted({n for job in jobs for n in job.losses("literature")})
    return {
        n: {
            key: _mean(job.losses("literature").get(n, {}).get(key) for job in jobs)
            for key in ("non_overlapping", "sliding", "stride")
        }
        for n in lengths
    }


def _recalled(setting: Setting) -> dict[int, Recalled]:
    lengths = sorted({n for job in setting.jobs for n in job.recalled()})
    found = {}
    for n in lengths:
        entries = [job.recalled().get(n, {}) for job in setting.jobs]
        having = [entry for entry in entries if entry.get("accuracy") is not None]
        alone = having[0] if len(having) == 1 else {}
        found[n] = Recalled(
            task=next(job.task["name"] for job in setting.jobs if job.task),
            mean=_mean(entry["accuracy"] for entry in having),
            low=alone.get("low"),
            high=alone.get("high"),
            seeds=tuple(
                SeedValue(
                    job.name,
                    str(job.facts.get("seed", "")),
                    entry.get("accuracy"),
                    entry.get("status", "not tested" if job.evaluation else job.outcome),
                )
                for job, entry in zip(setting.jobs, entries, strict=True)
            ),
        )
    return found


def _cost(jobs: Sequence[Job]) -> Cost:
    def fact(name: str) -> int | None:
        found = _mean(job.facts.get(name) for job in jobs)
        return None if found is None else round(found)

    def spent(name: str) -> float | None:
        # What a resumed job recorded is of its last part alone.
        return _mean(job.training.get(name) for job in jobs if not job.training.get("resumed"))

    return Cost(
        parameters=fact("parameters"),
        scheme_parameters=fact("scheme_parameters"),
        tokens_seen=fact("tokens_seen"),
        tokens_per_second=spent("tokens_per_second"),
        memory_gib=spent("peak_memory_gib"),
        seconds=spent("seconds"),
    )


def _position(jobs: Sequence[Job]) -> tuple[PositionPoint, ...]:
    """Buckets that every curve of the setting has; a seed without a number leaves no mean."""
    curves = [job.evaluation["curve"] for job in jobs if job.evaluation.get("curve")]
    points = []
    for same in zip(*curves, strict=False):
        values = tuple(bucket["bits_per_byte"] for bucket in same)
        mean = None if None in values else math.fsum(values) / len(values)
        points.append(PositionPoint(same[0]["first"], same[0]["last"], mean, values))
    return tuple(points)


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None
