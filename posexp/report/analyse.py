"""From sweeps to a `Study`: the analysis behind every page and table."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from posexp.report.caption import caption, conditions
from posexp.report.comparison import Comparison
from posexp.report.fairness import fairness
from posexp.report.figures.style import looks
from posexp.report.jobs import Job
from posexp.report.rows import make_rows
from posexp.report.sentences import summary
from posexp.report.study import Failure, Origin, Part, Study
from posexp.report.sweeps import Sweeps, config_hash

WITHOUT_RESULT = ("failed", "interrupted", "running", "not started")


def analyse(
    directories: Sequence[Path], sweeps: Sweeps, comparisons: Sequence[Comparison]
) -> Study:
    """The study of `comparisons`, which `sweeps` of `directories` gave."""
    names = [Path(directory).resolve().name for directory in directories]
    look = looks(comparisons)
    return Study(
        title=" + ".join(names),
        directories=tuple(directories),
        commands=sweeps.commands,
        made_by=f"posexp {version('posexp')}",
        notes=sweeps.notes,
        parts=told_apart([_part(comparison, look) for comparison in comparisons]),
    )


def failures(comparison: Comparison) -> tuple[Failure, ...]:
    """Every job without a result, or with an error; those set aside too."""
    found = []
    for setting in (*comparison.settings, *comparison.aside):
        for job in setting.jobs:
            if job.status in WITHOUT_RESULT or job.outcome == "diverged" or job.error:
                log = job.path / "console.log"
                place = log if log.is_file() else None
                found.append(Failure(job.name, setting.label, job.outcome, job.error, place))
    return tuple(found)


def told_apart(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with titles of their own: the longest length is added, then a number."""

    def repeated(found: Sequence[Part]) -> set[str]:
        titles = [part.title for part in found]
        return {title for title in titles if titles.count(title) > 1}

    alike = repeated(parts)
    longer = [
        dataclasses.replace(part, title=f"{part.title}, up to {max(part.lengths)}")
        if part.title in alike and part.lengths
        else part
        for part in parts
    ]
    alike = repeated(longer)
    return tuple(
        dataclasses.replace(part, title=f"{part.title} ({number})") if part.title in alike else part
        for number, part in enumerate(longer, start=1)
    )


def _part(comparison: Comparison, look: Mapping[str, int]) -> Part:
    differing = fairness(comparison)
    described = comparison.evaluated
    corpus = described.facts.get("corpus", "?") if described else "no result yet"
    part = Part(
        title=f"{corpus}, T = {comparison.context_length}" if described else corpus,
        conditions=conditions(comparison),
        context_length=comparison.context_length,
        lengths=comparison.lengths,
        baseline=comparison.baseline.label if comparison.baseline else None,
        chosen_by_data=comparison.chosen is None,
        summary=(),
        notes=tuple(caption(comparison)[1:]),
        rows=make_rows(comparison, differing, look),
        fairness=differing,
        grid=comparison.grid,
        failures=failures(comparison),
        origins=tuple(
            _origin(job, setting.label)
            for setting in (*comparison.settings, *comparison.aside)
            for job in setting.jobs
            if job.config
        ),
        ngram=comparison.ngram,
    )
    return dataclasses.replace(part, summary=summary(part))


def _origin(job: Job, label: str) -> Origin:
    if job.overrides:
        command = shlex.join(["posexp", "train", *job.overrides])
    else:  # a single run keeps its config, not the words that made it
        copied = f"after copying {job.path / 'config.json'} into a new directory DIR"
        command = f"python -m posexp.job DIR  # {copied}"
    facts = job.facts
    versions = {
        key.removeprefix("version."): str(value)
        for key, value in facts.items()
        if key.startswith("version.")
    }
    if "plugin" in facts:
        versions["plugin"] = str(facts["plugin"])
    return Origin(
        job=job.name,
        label=label,
        seed=str(facts.get("seed", "")),
        directory=job.path,
        command=command,
        config_hash=config_hash(job),
        versions=versions,
    )
