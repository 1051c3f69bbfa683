"""Which jobs of a sweep a command means that is given again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from posexp.composition import ComposedJob, ConfigurationError
from posexp.sweep.identity import digest, identify
from posexp.sweep.jobs import Job
from posexp.training.provenance import flatten

SHOWN = 5  # differences in one message

#: What is resolved once per sweep: the value in the config that stands for "as the sweep has it".
_LEFT_OPEN = {
    ("trainer", "accelerator"): "auto",
    ("trainer", "precision"): "auto",
    ("trainer", "threads"): None,
    ("tracking", "group"): None,
}
#: Of these, a sweep has one value, also where it is given.
_SHARED = {"trainer.accelerator", "trainer.threads"}


def match(composed: Sequence[ComposedJob], known: Sequence[Job]) -> list[Job | None]:
    """The job of the sweep that each composed one is; None for a new combination.

    Raises `ConfigurationError` that names the difference where a job is the same but for its
    config, its environment, or the version of a plugin.
    """
    alike: dict[str, list[Job]] = defaultdict(list)
    by_overrides: dict[tuple[str, ...], Job] = {}
    for job in known:
        alike[_key(job.config)].append(job)
        by_overrides[tuple(sorted(job.overrides))] = job
    return [
        _find(one, alike[_key(one.config)], by_overrides.get(tuple(sorted(one.overrides))))
        for one in composed
    ]


def filled(config: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with what it leaves open as `recorded` has it."""
    result = deepcopy(dict(config))
    for (section, name), is_open in _LEFT_OPEN.items():
        values = result.get(section, {})
        if name in values and values[name] == is_open and name in recorded.get(section, {}):
            values[name] = recorded[section][name]
    return result


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """`trainer.max_steps was 10 and is 20`, for every setting that is not the same."""
    before, after = _flat(then), _flat(now)
    return [
        f"{key} was {before.get(key, 'not set')} and is {after.get(key, 'not set')}"
        for key in dict.fromkeys([*before, *after])
        if before.get(key, _flat) != after.get(key, _flat)
    ]


def _find(one: ComposedJob, candidates: Sequence[Job], same_overrides: Job | None) -> Job | None:
    for job in candidates:
        if filled(one.config, job.config) == job.config:
            _refuse_changes(job, one)
            return job
    for job in [same_overrides] if same_overrides is not None else candidates:
        changed = differences(job.config, filled(one.config, job.config))
        shared = all(change.partition(" ")[0] in _SHARED for change in changed)
        if job is same_overrides or shared:
            raise _refusal(job, changed)
    return None


def _refuse_changes(job: Job, one: ComposedJob) -> None:
    if one.environment != job.environment:
        named = {"hydra.job.env_set": job.environment}, {"hydra.job.env_set": one.environment}
        raise _refusal(job, differences(*named))
    if not job.identity:  # of a sweep that an older posexp began
        return
    then, now = job.identity["plugins"], identify(job.config)["plugins"]
    changed = [
        f"{name} was of {then.get(name, 'no plugin')} and is of {now.get(name, 'no plugin')}"
        for name in dict.fromkeys([*then, *now])
        if then.get(name) != now.get(name)
    ]
    if changed:
        raise _refusal(job, changed)


def _refusal(job: Job, changed: Sequence[str]) -> ConfigurationError:
    more = f", and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    sweep = job.directory.parent
    return ConfigurationError(
        f"{job.name} of this sweep is not the same job any more: {', '.join(changed[:SHOWN])}"
        f"{more}; go on with what it was (posexp sweep resume {sweep}), or choose another "
        "hydra.sweep.dir"
    )


def _key(config: Mapping[str, Any]) -> str:
    kept = deepcopy(dict(config))
    for section, name in _LEFT_OPEN:
        kept.get(section, {}).pop(name, None)
    return digest(kept)


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    # The seed is one of the names that `flatten` leaves to others.
    return flatten(config) | {key: config[key] for key in ("seed",) if key in config}
