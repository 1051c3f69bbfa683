"""The numbers of one setting: per seed, in the mean, and with the error of the text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from posexp.evaluation.statistics import resamples
from posexp.report.jobs import Job
from posexp.report.row import Cell, SeedValue
from posexp.report.seeds import Error, estimate
from posexp.report.setting import Setting

Arrays = Mapping[str, np.ndarray]


def loss_cell(setting: Setting, length: int, kind: str = "anchored") -> Cell:
    """The loss at `length`; `kind` is "anchored" or "foreign"."""
    key = f"{kind}_{length}"
    return cell(
        setting,
        [job.loss(length, kind) for job in setting.jobs],
        [status(job, length, kind) for job in setting.jobs],
        lambda arrays: arrays[key],
    )


def change_cell(setting: Setting, minuend: tuple[str, int], subtrahend: tuple[str, int]) -> Cell:
    """One loss of a job minus another of its own, each a (kind, length), anchor by anchor."""
    (kind_a, a), (kind_b, b) = minuend, subtrahend
    values, why = [], []
    for job in setting.jobs:
        first, second = job.loss(a, kind_a), job.loss(b, kind_b)
        whole = first is not None and second is not None
        values.append(first - second if whole else None)
        reasons = (status(job, a, kind_a), status(job, b, kind_b))
        why.append(next((reason for reason in reasons if reason != "ok"), "ok"))
    return cell(
        setting, values, why, lambda arrays: arrays[f"{kind_a}_{a}"] - arrays[f"{kind_b}_{b}"]
    )


def cell(
    setting: Setting,
    values: Sequence[float | None],
    statuses: Sequence[str],
    per_anchor: Callable[[Arrays], np.ndarray],
) -> Cell:
    """A number a job, or why it has none. `per_anchor` is the same in nats, (anchors,), of a job.

    A diverged seed leaves no mean; one that is missing leaves that of the others.
    """
    seeds = tuple(
        SeedValue(job.name, str(job.facts.get("seed", "")), value, why)
        for job, value, why in zip(setting.jobs, values, statuses, strict=True)
    )
    why = next((reason for reason in ("diverged", *statuses) if reason in statuses), "not tested")
    numbers = [value for value in values if value is not None]
    if "diverged" in statuses or not numbers:
        return Cell(why, None, seeds)
    having = [job for job, value in zip(setting.jobs, values, strict=True) if value is not None]
    return Cell("ok", estimate(numbers, text_error(having, per_anchor)), seeds)


def status(job: Job, length: int, kind: str = "anchored") -> str:
    """Why a job has no loss at `length`, or "ok"."""
    if kind == "anchored" and job.diverged(length):
        return "diverged"
    entry = job.losses(kind).get(length)
    if entry is not None:
        return "ok" if entry.get("bits_per_byte") is not None else entry.get("status", "not tested")
    return "not tested" if job.evaluation else job.outcome


def text_error(jobs: Sequence[Job], per_anchor: Callable[[Arrays], np.ndarray]) -> Error | None:
    """The error of the jobs' mean from the text they share; None without common anchors."""
    arrays = [job.anchors for job in jobs]
    if any(found is None for found in arrays):
        return None
    try:
        values = [np.asarray(per_anchor(found), np.float64) / math.log(2) for found in arrays]
        same = all(
            np.array_equal(found[name], arrays[0][name])
            for found in arrays[1:]
            for name in ("document", "position")
        )
    except KeyError:
        return None
    if not same:
        return None
    return mean_error(values, arrays[0]["document"])


def mean_error(values: Sequence[np.ndarray], documents: np.ndarray) -> Error | None:
    """The error of the mean over seeds of `values`, each (anchors,) bits, from the text alone."""
    draws = resamples(documents)
    error = draws.standard_error(np.mean(values, axis=0))
    return None if error is None or not math.isfinite(error) else Error(error, draws.freedom)
