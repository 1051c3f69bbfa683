"""Hydra's and OmegaConf's errors, told as one message that names the nearest valid choice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException

from posexp.composition.store import config_node, registries
from posexp.registry import PluginError, nearest


class ConfigurationError(ValueError):
    """A setting that cannot be used; the message is meant for the user as it stands."""


FOREIGN = (HydraException, OmegaConfBaseException)


def unknown_key(error: Exception) -> str | None:
    """The key that Hydra could not override, or None if `error` is about something else."""
    match = re.match(r"Could not override '([^']+)'", str(error))
    return match.group(1) if match else None


def explain_unknown_key(key: str, config: Mapping[str, Any]) -> ConfigurationError:
    """What to say about `key`, given a config that has every valid one."""
    if "@" in key:
        group, _, package = key.partition("@")
        return ConfigurationError(
            f"there is no {group} at {package!r} to choose: {key}=... is for schemes that contain "
            "other schemes (scheme=hybrid)"
        )
    parent, _, last = key.rpartition(".")
    if parent == "task" and "task" not in config:
        offered = ", ".join(registries()["task"].names)
        return ConfigurationError(f"{key}: no task is chosen; set task=... as well ({offered})")
    node: Any = config
    for part in filter(None, parent.split(".")):
        node = node.get(part) if isinstance(node, Mapping) else None
    if not parent or not isinstance(node, Mapping):
        every = flat_keys(config)
        close = nearest(key, [*config, *every])
        return ConfigurationError(
            f"there is no setting {key!r}{close}; at the top are {', '.join(config)}"
        )
    where = f"{parent}={node['name']}" if "name" in node else parent
    own = [k for k in node if k != "name"]
    return ConfigurationError(
        f"{where} has no setting {last!r}{nearest(last, own)}; "
        f"it has {', '.join(own) or 'no settings'}"
    )


def explain(error: Exception) -> ConfigurationError:
    """Any other error of composition in one message."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _no_option(error.missing_cfg_file, error.options or ())
    if isinstance(error, OverrideParseException):
        reason = str(error).splitlines()
        detail = reason[1] if reason[0].startswith("Error parsing") else reason[0]
        return ConfigurationError(
            f"cannot read {error.override!r} as key=value ({detail}); "
            "quote values with special characters, as in key=\"'a, b'\""
        )
    cause = error.__cause__
    first = _first_line(error)
    if isinstance(cause, OmegaConfBaseException):
        first = f"{first}: {_first_line(cause)}"
    key = getattr(error, "full_key", None)
    return ConfigurationError(f"{key}: {first}" if key else first)


def flat_keys(config: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The dotted keys of every value in a nested mapping."""
    keys = []
    for key, value in config.items():
        if isinstance(value, Mapping):
            keys += flat_keys(value, f"{prefix}{key}.")
        else:
            keys.append(f"{prefix}{key}")
    return keys


def _no_option(missing: str, options: Iterable[str]) -> ConfigurationError:
    group, _, option = missing.rpartition("/")
    choices = sorted(o for o in options if not o.startswith("_"))
    found = registries().get(group)
    if found is not None and option in found.names:
        try:
            config_node(found, option)
        except PluginError as error:
            return ConfigurationError(str(error))
    return ConfigurationError(
        f"{group} has no option {option!r}{nearest(option, choices)}; "
        f"choose from {', '.join(choices)}"
    )


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
