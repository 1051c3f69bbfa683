"""The shortest names that tell the settings of a sweep apart."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from posexp.report.jobs import SEEDS, Job

# Where a job is tracked does not change what it measures.
IGNORED = (*SEEDS, "tracking")
GROUPS = ("scheme", "span", "task")


def settings(job: Job) -> dict[str, str]:
    """The job's config as dotted key -> value, without seeds: equal for seeds of one setting."""
    kept = {key: value for key, value in job.config.items() if key not in IGNORED}
    return _flatten(kept)


def labels(jobs: Sequence[Job]) -> dict[str, str]:
    """Job name -> label: scheme, span and task where they matter, and what else differs in `jobs`.

    A parameter of a scheme is compared only among the jobs of that scheme, one of a span among
    those of that span, one of a task among those of that task. Jobs that differ in their seeds
    alone share a label; a job without a config is called by its directory.
    """
    flat = {job.name: settings(job) for job in jobs if job.config}
    spans = {values.get("span.name") for values in flat.values()}
    tasks = {values.get("task.name") for values in flat.values()}
    everywhere = {key for key in _varied(list(flat.values())) if key.split(".")[0] not in GROUPS}
    by_name: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for values in flat.values():
        for group in GROUPS:
            by_name[group, values.get(f"{group}.name", "")].append(values)
    result = {}
    for job in jobs:
        if job.name not in flat:
            result[job.name] = job.name
            continue
        values = flat[job.name]
        scheme, span, task = chosen = [values.get(f"{group}.name", "") for group in GROUPS]
        differing = set(everywhere)
        for group, name in zip(GROUPS, chosen, strict=True):
            varied = _varied(by_name[group, name])
            differing |= {key for key in varied if key.startswith(f"{group}.")}
        shown = [key for key in sorted(differing) if key in values]
        words = [scheme or "?"]
        if span and (len(spans) > 1 or span != "full"):
            words.append(span)
        if task and len(tasks) > 1:
            words.append(task)
        words += [f"{_short(key, shown)}={values[key]}" for key in shown]
        result[job.name] = " ".join(words)
    return result


def _flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            flat |= _flatten(item, f"{prefix}{key}.")
        else:
            flat[prefix + key] = item if isinstance(item, str) else json.dumps(item)
    return flat


def _varied(flats: list[dict[str, str]]) -> set[str]:
    keys = {key for flat in flats for key in flat}
    return {key for key in keys if len({flat.get(key) for flat in flats}) > 1}


def _short(key: str, among: list[str]) -> str:
    """The last word of a dotted key, or all of it where another key ends in the same word."""
    last = key.rsplit(".", 1)[-1]
    return last if sum(other.rsplit(".", 1)[-1] == last for other in among) == 1 else key
