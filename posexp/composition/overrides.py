"""What an override may not do, found before Hydra composes anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from posexp.composition.errors import FOREIGN, ConfigurationError, explain


def parse_overrides(overrides: Sequence[str]) -> list[Override]:
    """Hydra's reading of `key=value` arguments. Raises `ConfigurationError` naming a bad one."""
    try:
        return OverridesParser.create().parse_overrides(list(overrides))
    except FOREIGN as error:
        raise explain(error) from error


def check_overrides(overrides: Sequence[str], multirun: bool) -> None:
    """Refuse settings that would be ignored or would take effect by half.

    Raises `ConfigurationError` for a key that is set twice, for `scheme.name=rope` (it would change
    the name and keep another scheme's parameters), for several values without `-m`, and for the
    directory of the other kind of run.
    """
    seen: dict[str, str] = {}
    for override in parse_overrides(overrides):
        line, key = str(override.input_line), override.get_key_element().lstrip("+~")
        if key in seen:
            raise ConfigurationError(f"{key} is set twice: {seen[key]} and {line}")
        seen[key] = line
        _refuse_half_switch(key, override.value(), line)
        if override.is_sweep_override() and not multirun:
            raise ConfigurationError(
                f"{line} gives several values, which is a sweep: add -m (posexp train -m {line}); "
                "a list is written [a,b]"
            )
        other = "hydra.run.dir" if multirun else "hydra.sweep.dir"
        if key == other or (key == "hydra.sweep.subdir" and not multirun):
            right = "hydra.sweep.dir" if multirun else "hydra.run.dir"
            raise ConfigurationError(
                f"{key} has no effect {'on a sweep' if multirun else 'without -m'}: use {right}"
            )


def _refuse_half_switch(key: str, value: Any, line: str) -> None:
    for path, chosen in _paths(key, value):
        package, _, last = path.rpartition(".")
        if last != "name" or not package or package.startswith("hydra"):
            continue
        group = package.partition(".")[0]
        whole = f"{group}={chosen}" if group == package else f"{group}@{package}={chosen}"
        raise ConfigurationError(
            f"{line} changes a name and keeps the other settings of what was chosen before; "
            f"choose the whole: {whole}"
        )


def _paths(key: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [pair for k, v in value.items() for pair in _paths(f"{key}.{k}", v)]
    return [(key, value)]
