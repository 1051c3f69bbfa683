"""Everything that a report shows, computed: pages, tables and figures only lay it out.

`Study` has parts, and a part has rows (`posexp.report.row`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from posexp.report.row import Row, SeedValue

WARNING, HARMLESS = "not like with like", "harmless"


@dataclass(frozen=True)
class Differing:
    """A setting or fact that differs between the compared runs, beyond scheme and seed.

    `values` is label -> the values of its jobs (several where its seeds differ, "not recorded"
    where there is none); `verdict` is `WARNING` or `HARMLESS`, `reason` says why in a sentence.
    """

    name: str
    values: Mapping[str, tuple[str, ...]]
    verdict: str
    reason: str


@dataclass(frozen=True)
class Candidate:
    """One point of a grid: its settings, mean validation loss and whether it was chosen on that.

    `label` is what is tuned, the same for its other points; `setting` is the label of the point's
    own row, if it has one.
    """

    label: str
    setting: str
    values: Mapping[str, str]
    val: float | None
    by_seed: tuple[SeedValue, ...]
    chosen: bool


@dataclass(frozen=True)
class Grid:
    """A grid of optimizer settings, one point chosen per scheme on the validation split alone.

    `chosen_on_val` is False where no choice could be made: then `reason` says why, and every point
    is a row of its own. The cost is that of every job of the grid, chosen or not.
    """

    names: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    chosen_on_val: bool
    reason: str
    jobs: int
    tokens: int
    seconds: float


@dataclass(frozen=True)
class Failure:
    """A job without a result, or with an error: what it says and where its log is."""

    job: str
    label: str
    outcome: str
    error: str | None
    log: Path | None


@dataclass(frozen=True)
class Origin:
    """How one job is run again: the command, the hash of its config, the versions it ran with."""

    job: str
    label: str
    seed: str
    directory: Path
    command: str
    config_hash: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """Settings that were scored on the same targets after training at the same length T.

    `summary` is a few sentences computed from the data, the most important first; `notes` what a
    reader must know before believing them. `baseline` is None where nothing has a result. `lengths`
    are all that any job was tested at, and `chosen_by_data` says that the baseline is the best at
    T, so that every pair of settings counts in Holm's correction.
    """

    title: str
    conditions: str
    context_length: int | None
    lengths: tuple[int, ...]
    baseline: str | None
    chosen_by_data: bool
    summary: tuple[str, ...]
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    fairness: tuple[Differing, ...]
    grid: Grid | None
    failures: tuple[Failure, ...]
    origins: tuple[Origin, ...]
    ngram: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """What one or several sweeps say. `notes` are about reading them: jobs counted once, say."""

    title: str
    directories: tuple[Path, ...]
    commands: tuple[str, ...]
    made_by: str
    notes: tuple[str, ...]
    parts: tuple[Part, ...]
