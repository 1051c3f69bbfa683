"""The shortest names that tell the settings of a sweep apart."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from posexp.report.jobs import SEEDS, Job

# Where a job is tracked does not change what it measures; jobs of a comparison have one objective.
IGNORED = (*SEEDS, "tracking", "objective")
GROUPS = ("scheme", "span", "task")

# How a job was run and looked at, not what it learned; jobs of a comparison share their corpus,
# wherever it lies. These make no settings of their own, unless a sweep varies nothing else.
HARMLESS = frozenset(
    {
        *("data.name", "data.path", "data.tokenizer", "data.vocabulary"),
        *("trainer.accelerator", "trainer.devices", "trainer.threads", "trainer.workers"),
        *("trainer.strategy", "trainer.sharded_checkpoints", "trainer.log_every"),
        *("trainer.val_every", "trainer.checkpoint_every", "trainer.keep_checkpoints"),
        *("evaluation.lengths", "evaluation.batch_tokens", "evaluation.foreign_split"),
        *("evaluation.curve_windows", "evaluation.literature_windows"),
    }
)


def settings(job: Job, hidden: Iterable[str] = ()) -> dict[str, str]:
    """The job's config as dotted key -> value, without seeds and `hidden` keys.

    Equal for seeds of one setting.
    """
    kept = {key: value for key, value in job.config.items() if key not in IGNORED}
    return {key: value for key, value in _flatten(kept).items() if key not in hidden}


def seeds_of(job: Job) -> tuple[int, ...]:
    """What tells the seeds of a setting apart, 0 where one is not recorded."""
    return tuple(job.facts.get(key) or 0 for key in SEEDS)


def by_setting(jobs: Sequence[Job]) -> list[tuple[str, list[Job]]]:
    """The settings of `jobs`, each with its label and its jobs, in the order of the jobs.

    A setting has a seed once: where two sweeps have another job of the same setting and seed (with
    other versions, say), the sweeps are told apart, as `label @sweep`.
    """
    hidden: frozenset[str] = HARMLESS
    named = labels(jobs, hidden)
    if _repeats_a_seed(jobs, named):
        hidden = frozenset()
        named = labels(jobs, hidden)
    if _repeats_a_seed(jobs, named) and len({job.sweep for job in jobs}) > 1:
        named = {job.name: f"{named[job.name]} @{job.sweep}" for job in jobs}
    groups: dict[tuple[str, ...], list[Job]] = defaultdict(list)
    for job in jobs:
        key = (named[job.name], *map(str, sorted(settings(job, hidden).items())))
        groups[key].append(job)
    return [(key[0], sorted(group, key=seeds_of)) for key, group in groups.items()]


def labels(jobs: Sequence[Job], hidden: Iterable[str] = ()) -> dict[str, str]:
    """Job name -> label: scheme, span and task where they matter, and what else differs in `jobs`.

    A parameter of a scheme is compared only among the jobs of that scheme, one of a span among
    those of that span, one of a task among those of that task. Jobs that differ in their seeds, or
    in `hidden` keys, alone share a label; a job without a config is called by its directory.
    """
    flat = {job.name: settings(job, hidden) for job in jobs if job.config}
    spans = {values.get("span.name") for values in flat.values()}
    tasks = {values.get("task.name") for values in flat.values()}
    everywhere = {key for key in _varied(list(flat.values())) if key.split(".")[0] not in GROUPS}
    by_name: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for values in flat.values():
        for group in GROUPS:
            by_name[group, values.get(f"{group}.name", "")].append(values)
    varied = {key: _varied(found) for key, found in by_name.items()}
    result = {}
    for job in jobs:
        if job.name not in flat:
            result[job.name] = job.name
            continue
        values = flat[job.name]
        scheme, span, task = chosen = [values.get(f"{group}.name", "") for group in GROUPS]
        differing = set(everywhere)
        for group, name in zip(GROUPS, chosen, strict=True):
            differing |= {key for key in varied[group, name] if key.startswith(f"{group}.")}
        shown = [key for key in sorted(differing) if key in values]
        words = [scheme or "?"]
        if span and (len(spans) > 1 or span != "full"):
            words.append(span)
        if task and len(tasks) > 1:
            words.append(task)
        words += [f"{_short(key, shown)}={values[key]}" for key in shown]
        result[job.name] = " ".join(words)
    return result


def _repeats_a_seed(jobs: Sequence[Job], named: Mapping[str, str]) -> bool:
    counts = Counter((named[job.name], seeds_of(job)) for job in jobs if job.config)
    return any(n > 1 for n in counts.values())


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
