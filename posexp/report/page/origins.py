"""How each row is made again: commands, configs and versions."""

from __future__ import annotations

from collections import Counter

from posexp import page
from posexp.report.study import Origin, Part, Study


def origins(study: Study) -> list[page.Content]:
    """The commands of the sweeps, the versions, and the command of every job, folded by setting."""
    found = [origin for part in study.parts for origin in part.origins]
    content: list[page.Content] = []
    if study.commands:
        content.append(page.Code("\n".join(study.commands), "the whole study"))
    if not found:
        return [*content, "No job has recorded its config yet."]
    common = _common(found)
    if common:
        content.append(page.Facts(list(common.items())))
    for part in study.parts:
        if len(study.parts) > 1:
            content.append(page.Heading(part.title))
        content += _settings(part, common)
    return content


def _common(found: list[Origin]) -> dict[str, str]:
    """The version of each package that most jobs ran with."""
    names = dict.fromkeys(name for origin in found for name in origin.versions)
    counts = {name: Counter(o.versions.get(name) for o in found) for name in names}
    return {name: str(count.most_common(1)[0][0]) for name, count in counts.items()}


def _settings(part: Part, common: dict[str, str]) -> list[page.Content]:
    by_label: dict[str, list[Origin]] = {}
    for origin in part.origins:
        by_label.setdefault(origin.label, []).append(origin)
    return [
        page.Details(
            f"{label}: {'one job' if len(jobs) == 1 else f'{len(jobs)} jobs'}",
            [page.Code("\n".join(job.command for job in jobs)), _table(jobs, common)],
        )
        for label, jobs in by_label.items()
    ]


def _table(jobs: list[Origin], common: dict[str, str]) -> page.Table:
    columns = ["seed", "directory", "config hash", "other versions"]
    return page.Table(
        [page.Column(name, numeric=False, sortable=False) for name in columns],
        [
            [job.seed, str(job.directory), job.config_hash[:12], _versions(job, common)]
            for job in jobs
        ],
    )


def _versions(job: Origin, common: dict[str, str]) -> str:
    other = [f"{k} {v}" for k, v in job.versions.items() if common.get(k) != v]
    return ", ".join(other) or "none"
