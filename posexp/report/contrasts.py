"""Every setting against the baseline: what the difference is, and what may be said of it.

A difference is called one only where the interval over seeds *and* text excludes zero after Holm's
correction (Holm 1979, jstor 4615733) over the settings that are compared at this length. Where the
baseline was picked by the data, as the best at T, any two settings could have become the pair that
is looked at, so every pair counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from posexp.report.cells import mean_error, status
from posexp.report.estimate import (
    ALIKE,
    ALPHA,
    BASELINE,
    BETTER,
    DIVERGED,
    FEWEST_SEEDS,
    MISSING,
    TOO_FEW,
    WORSE,
    Contrast,
    Estimate,
)
from posexp.report.labels import seeds_of
from posexp.report.power import seeds_needed
from posexp.report.seeds import estimate, p_of_zero
from posexp.report.setting import Setting

if TYPE_CHECKING:  # which imports this module
    from posexp.report.comparison import Comparison

REASONS = {
    "undefined": "not defined at this length",
    "memory": "one window does not fit into memory",
    "not tested": "not tested at this length",
    "running": "still running",
}


def contrasts(comparison: Comparison, length: int) -> dict[str, Contrast]:
    """Label -> its contrast with the baseline at `length`."""
    estimates = {s.label: _estimate(comparison, s, length) for s in comparison.settings}
    p = {label: value for label, e in estimates.items() if (value := p_of_zero(e)) is not None}
    compared = len(p) + 1
    family = compared * (compared - 1) // 2 if comparison.chosen is None else len(p)
    corrected = holm(p, family)
    return {
        s.label: _contrast(comparison, s, length, estimates[s.label], corrected, family)
        for s in comparison.settings
    }


def holm(p: Mapping[str, float], family: int | None = None) -> dict[str, float]:
    """Holm's step-down correction: the i-th smallest p times family + 1 - i, never falling.

    `family` is the number of comparisons that count, at least those in `p`, which is the default:
    those that are not in `p` are taken to have the largest values.
    """
    family = len(p) if family is None else family
    corrected, highest = {}, 0.0
    for i, label in enumerate(sorted(p, key=p.__getitem__)):
        highest = max(highest, min(1.0, (family - i) * p[label]))
        corrected[label] = highest
    return corrected


def _estimate(comparison: Comparison, setting: Setting, length: int) -> Estimate | None:
    pairs = comparison.pairs(setting, length)
    if not pairs or setting.diverged(length):
        return None
    values = [values for _, values in pairs]
    text = mean_error(values, pairs[0][0].anchors["document"])
    return estimate([float(np.mean(v)) for v in values], text)


def _contrast(
    comparison: Comparison,
    setting: Setting,
    length: int,
    found: Estimate | None,
    corrected: Mapping[str, float],
    family: int,
) -> Contrast:
    if setting is comparison.baseline:
        return Contrast(BASELINE, "the baseline")
    if setting.diverged(length):
        return Contrast(DIVERGED, "diverged")
    if found is None:
        return Contrast(MISSING, f"n/a: {_why_none(comparison, setting, length)}")
    holm_p = corrected.get(setting.label)
    verdict, words = judge(found, holm_p, family)
    return Contrast(
        verdict=verdict,
        words=words,
        estimate=found,
        by_seed=tuple(
            (str(job.facts.get("seed", "")), float(np.mean(values)))
            for job, values in comparison.pairs(setting, length)
        ),
        p=p_of_zero(found),
        holm=holm_p,
        family=0 if holm_p is None else family,
        needed=seeds_needed(found),
    )


def judge(found: Estimate, holm_p: float | None, family: int) -> tuple[str, str]:
    """The verdict and its words; `holm_p` is None where nothing could be tested."""
    if found.seeds < FEWEST_SEEDS:
        few = "one seed" if found.seeds == 1 else f"{found.seeds} seeds are too few"
        return TOO_FEW, f"not distinguishable: {few}"
    if holm_p is None:
        return TOO_FEW, "not distinguishable: the error of the text is unknown"
    if holm_p <= ALPHA:
        word = BETTER if found.mean < 0 else WORSE
        low, high = sorted((abs(found.both.low), abs(found.both.high)))
        return word, f"{word} by {abs(found.mean):.3f} ({low:.3f} to {high:.3f})"
    if found.both.covers(0):
        return ALIKE, "not distinguishable (interval covers zero)"
    p = p_of_zero(found)
    return ALIKE, f"not distinguishable (p = {p:.2g}, corrected for {family}: {holm_p:.2g})"


def _why_none(comparison: Comparison, setting: Setting, length: int) -> str:
    baseline = comparison.baseline
    if baseline is None:
        return "there is no baseline"
    reasons = [status(job, length) for job in setting.jobs]
    if "ok" not in reasons:
        return REASONS.get(reasons[0], reasons[0])
    if baseline.diverged(length):
        return "the baseline diverged"
    of_baseline = [status(job, length) for job in baseline.jobs]
    if "ok" not in of_baseline:
        reason = REASONS.get(of_baseline[0], of_baseline[0])
        return f"the baseline has none ({reason})"
    if not _common_seeds(setting, baseline):
        return "no seed in common with the baseline"
    return "no losses of the same anchors as the baseline's"


def _common_seeds(one: Setting, other: Setting) -> bool:
    return bool({seeds_of(job) for job in one.jobs} & {seeds_of(job) for job in other.jobs})
