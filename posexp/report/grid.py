"""A grid of optimizer settings: one point a scheme, chosen on the validation split alone.

A scheme may learn best at another learning rate than the next, so a sweep may give each the same
grid. The best of several losses on test would favour whoever had more tries; test is looked at for
the chosen point only.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from posexp.report.labels import HARMLESS, labels, seeds_of, settings
from posexp.report.row import SeedValue
from posexp.report.setting import Setting
from posexp.report.study import Candidate, Grid

TUNED = "optimizer."

Flat = dict[str, str]


def choose_on_val(found: Sequence[Setting]) -> tuple[list[Setting], list[Setting], Grid | None]:
    """The settings to compare, those set aside, and the grid; no grid where there is none.

    A grid is two settings or more that differ in the optimizer's settings alone, for one of two or
    more schemes (or spans, ...): with a single one the rates themselves are what is compared. The
    chosen point has the lowest mean validation loss, of those that have one for every seed. Where
    completed jobs have no validation loss nothing is chosen and nothing set aside.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Setting]] = defaultdict(list)
    flat = {s.label: settings(s.jobs[0], HARMLESS) for s in found}
    for setting in found:
        if rest := {k: v for k, v in flat[setting.label].items() if not k.startswith(TUNED)}:
            groups[tuple(sorted(rest.items()))].append(setting)
    names = sorted({name for group in groups.values() for name in _varied(group, flat)})
    if len(groups) < 2 or not names:
        return list(found), [], None
    tuned = [group for group in groups.values() if len(group) > 1]
    unrecorded = [
        job.name
        for group in tuned
        for setting in group
        for job in setting.jobs
        if job.outcome == "completed" and job.validation is None
    ]
    chosen = {} if unrecorded else {g[0].label: _best(g) for g in tuned}
    aside = [s for g in tuned if (best := chosen.get(g[0].label)) for s in g if s is not best]
    kept = [s for s in found if s not in aside]
    grid = _grid(names, tuned, [s for s in chosen.values() if s], flat, unrecorded)
    return kept, aside, grid


def validation(setting: Setting) -> float | None:
    """The mean validation loss over seeds; None unless every seed has one."""
    values = [job.validation for job in setting.jobs]
    if any(v is None for v in values) or any(job.outcome == "diverged" for job in setting.jobs):
        return None
    return math.fsum(values) / len(values)


def _best(group: Sequence[Setting]) -> Setting | None:
    """The lowest mean, among those that have every seed that any point of the group has."""
    seeds = {seeds_of(job) for setting in group for job in setting.jobs}
    whole = [s for s in group if {seeds_of(job) for job in s.jobs} == seeds]
    losses = [(loss, s) for s in whole if (loss := validation(s)) is not None]
    return min(losses, key=lambda pair: pair[0])[1] if losses else None


def _grid(
    names: Sequence[str],
    tuned: Sequence[Sequence[Setting]],
    chosen: Sequence[Setting],
    flat: dict[str, Flat],
    unrecorded: Sequence[str],
) -> Grid:
    jobs = [job for group in tuned for setting in group for job in setting.jobs]
    label = labels(jobs, HARMLESS | set(names))
    return Grid(
        names=tuple(names),
        candidates=tuple(
            Candidate(
                label=label[setting.jobs[0].name],
                setting=setting.label,
                values={name: flat[setting.label].get(name, "") for name in names},
                val=validation(setting),
                by_seed=tuple(
                    SeedValue(
                        job.name,
                        str(job.facts.get("seed", "")),
                        job.validation,
                        "ok" if job.validation is not None else job.outcome,
                    )
                    for job in setting.jobs
                ),
                chosen=setting in chosen,
            )
            for group in tuned
            for setting in group
        ),
        chosen_on_val=bool(chosen),
        reason=_reason(names, tuned, chosen, flat, unrecorded),
        jobs=len(jobs),
        tokens=sum(int(job.facts.get("tokens_seen") or 0) for job in jobs),
        seconds=math.fsum(job.training.get("seconds") or job.seconds or 0.0 for job in jobs),
    )


def _reason(
    names: Sequence[str],
    tuned: Sequence[Sequence[Setting]],
    chosen: Sequence[Setting],
    flat: dict[str, Flat],
    unrecorded: Sequence[str],
) -> str:
    what = " and ".join(names)
    if unrecorded:
        return (
            f"{what} could not be chosen: {len(unrecorded)} completed jobs have no validation loss "
            f"(the first is {unrecorded[0]}; trainer.val_every=null records none), and choosing on "
            "the tested split would favour whoever had more tries. Every point is a row."
        )
    parts = [f"{what} chosen for each scheme by the mean validation loss over its seeds, not test."]
    if without := [group[0].scheme for group in tuned if not set(group) & set(chosen)]:
        parts.append(
            f"None could be chosen for {', '.join(without)}, where no point has a validation loss "
            "for every seed: all its points are rows."
        )
    points = [setting for group in tuned for setting in group]
    if unfinished := sum(validation(s) is None for s in points):
        parts.append(
            f"{unfinished} of {len(points)} points could not be chosen: unfinished, or diverged."
        )
    if len(names) == 1 and (edge := _at_an_edge(names[0], tuned, chosen, flat)):
        parts.append(
            f"The best point of {', '.join(edge)} is at an end of its grid, so a better one may "
            "lie beyond it."
        )
    return " ".join(parts)


def _at_an_edge(
    name: str, tuned: Sequence[Sequence[Setting]], chosen: Iterable[Setting], flat: dict[str, Flat]
) -> list[str]:
    ends = []
    for group in tuned:
        try:
            points = {s.label: float(flat[s.label][name]) for s in group}
        except (KeyError, ValueError):  # not a number
            continue
        extremes = (min(points.values()), max(points.values()))
        ends += [s.label for s in group if s in chosen and points[s.label] in extremes]
    return ends


def _varied(group: Sequence[Setting], flat: dict[str, Flat]) -> set[str]:
    keys = {k for s in group for k in flat[s.label] if k.startswith(TUNED)}
    return {key for key in keys if len({flat[s.label].get(key) for s in group}) > 1}
