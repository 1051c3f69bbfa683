"""A row of a report: one setting, with everything that was measured of it.

Losses, gains and differences are in bits per byte; a difference is a setting minus the baseline,
so negative is better. A number that does not exist is None beside a status that says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posexp.report.estimate import Contrast, Estimate

# Why a seed has no number, or "ok".
STATUSES = (
    *("ok", "undefined", "memory", "diverged", "not tested"),
    *("failed", "interrupted", "running", "not started"),
)


@dataclass(frozen=True)
class SeedValue:
    """What one job has: a number, or None and one of `STATUSES`."""

    job: str
    seed: str
    value: float | None
    status: str


@dataclass(frozen=True)
class Cell:
    """One figure of a setting at one length: the mean over seeds, and every seed.

    `estimate` is None where a seed diverged or none has a number: then `status` says why.
    """

    status: str
    estimate: Estimate | None
    seeds: tuple[SeedValue, ...]


@dataclass(frozen=True)
class Recalled:
    """A task's accuracy over all distances at one length, per seed and in the mean.

    `low` and `high` are the 95 % Wilson interval, of one seed alone; None for several.
    """

    task: str
    mean: float | None
    low: float | None
    high: float | None
    seeds: tuple[SeedValue, ...]


@dataclass(frozen=True)
class Cost:
    """What a setting cost, means over its seeds; None where it was not recorded.

    `tokens_per_second` of training, `memory_gib` its peak, `seconds` of training a job.
    """

    parameters: int | None
    scheme_parameters: int | None
    tokens_seen: int | None
    tokens_per_second: float | None
    memory_gib: float | None
    seconds: float | None


@dataclass(frozen=True)
class PositionPoint:
    """A bucket of the loss by position: positions `first` to `last`, counted from 0."""

    first: int
    last: int
    mean: float | None
    by_seed: tuple[float | None, ...]


@dataclass(frozen=True)
class TrainingCurve:
    """One job's metrics.csv, thinned: steps with the training loss (nats) and validation (bits)."""

    job: str
    seed: str
    train: tuple[tuple[int, float], ...]
    val: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Row:
    """One setting: a row of the main table, a line of the figures.

    `look` numbers the colour, marker and dashes, the same in every figure
    (`posexp.report.figures.style.looks`); None where there is nothing to draw. The mappings are by
    length. `gains` is G(L) = A(T) - A(L), `foreign` the loss with a foreign prefix, `content` the
    use of far content A_foreign(L) - A(L), `damage` that of unseen positions A_foreign(L) - A(T).
    `unlike` names the settings that make its comparison with the baseline not like with like.
    """

    label: str
    scheme: str
    outcome: str
    rank: int | None
    mean_reciprocal_rank: float | None
    is_baseline: bool
    look: int | None
    losses: Mapping[int, Cell]
    gains: Mapping[int, Cell]
    contrasts: Mapping[int, Contrast]
    foreign: Mapping[int, Cell]
    content: Mapping[int, Cell]
    damage: Mapping[int, Cell]
    literature: Mapping[int, Mapping[str, float | None]]
    recalled: Mapping[int, Recalled]
    cost: Cost
    position: tuple[PositionPoint, ...]
    training: tuple[TrainingCurve, ...]
    unlike: tuple[str, ...] = ()
