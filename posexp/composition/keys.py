"""Every setting that a job carries must be one that posexp reads.

Hydra checks keys on the command line only: `+trainer.max_step=5`, or the same slip in an experiment
file, composes without a word. So each composed job is compared with the default configuration,
whose files name every key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from posexp.composition.errors import ConfigurationError, explain_unknown_key, flat_keys
from posexp.registry import PluginError, scheme_config, task_registry

KINDS = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a text",
    list: "a list in brackets",
}

#: Where null means "off" although the default is a value.
MAY_BE_NULL = frozenset(
    {"trainer.val_every", "optimizer.gradient_clip", "evaluation.foreign_split"}
)


def check_keys(config: Mapping[str, Any], reference: Mapping[str, Any]) -> None:
    """Compare a job's keys and types with the default configuration's.

    Raises `ConfigurationError` for an unknown key, a removed one, a value of another type, a value
    that is required and missing, and for a parameter that the chosen scheme or task does not have.
    """
    _check_plugins(config)
    known, given = _values(reference), _values(config)
    for key, value in given.items():
        if key not in known:
            raise explain_unknown_key(key, reference)
        _check_type(key, value, known[key])
        if value == "???":
            raise ConfigurationError(f"{key} must be set: {key}=...")
    # The one group whose options differ in their keys: the CSV needs no project.
    only_csv = config.get("tracking") == {"name": "csv"}
    for key in known:
        if key not in given and not (only_csv and key.startswith("tracking.")):
            raise ConfigurationError(f"{key} was removed, but posexp needs it: leave out ~{key}")


def _check_plugins(config: Mapping[str, Any]) -> None:
    if "scheme" not in config:
        raise ConfigurationError("scheme was removed; scheme=nope is the one without positions")
    if "task" in config and "name" not in config["task"]:
        raise ConfigurationError("task has settings but no name: set task=... to choose one")
    try:
        scheme_config(config["scheme"])
        if "task" in config:
            task_registry().config(config["task"])
    except (PluginError, ValueError) as error:
        raise ConfigurationError(str(error)) from error


def _check_type(key: str, value: Any, default: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(f"{key} must be finite, got {value}")
    # A null default says nothing about the type.
    if default is None or (value is None and key in MAY_BE_NULL):
        return
    expected = type(default)
    accepted = (int, float) if expected is float else expected
    # To Python true is an integer, too.
    is_flag = isinstance(value, bool) and expected is not bool
    if expected in KINDS and (is_flag or not isinstance(value, accepted)):
        raise ConfigurationError(
            f"{key} must be {KINDS[expected]} (as {default!r} is), got {value!r}"
        )


def _values(config: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for dotted in flat_keys({k: v for k, v in config.items() if k not in ("scheme", "task")}):
        node: Any = config
        for part in dotted.split("."):
            node = node[part]
        found[dotted] = node
    return found
