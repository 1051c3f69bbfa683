"""From installed distributions to schemes: entry points, provenance, conflicts, broken plugins.

The entry points of the group `posexp.schemes` are the catalogue; an entry point's name is the
name of its scheme. Listing reads metadata only. A scheme's module is imported when it is asked
for, each in its own try: a broken plugin is remembered and raised only when it is selected.
Evaluation tasks are found in the same way, in the group `posexp.tasks`, and families of foreign
checkpoints in `posexp.families`; files that the user named (`posexp.local`) join the installed
distributions.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from posexp.loading import (
    FAMILIES,
    SCHEMES,
    TASKS,
    Kind,
    PluginError,
    check_config,
    load_specs,
    plugin_manager,
    told,
)

if TYPE_CHECKING:
    from posexp.dims import AttentionDims
    from posexp.scheme import PositionScheme


@dataclasses.dataclass(frozen=True)
class SchemeSpec:
    """What a plugin's `posexp_schemes` hook returns for each of its schemes.

    `config` is a dataclass whose fields all have defaults (or `omegaconf.MISSING`); `build` makes
    the module from a config and the dims, usually the scheme class itself. `expected_failures`
    names checks of `posexp.testing` that the scheme fails by its nature, each with the reason.
    `extends` names a scheme whose trained weights this one takes further than they were trained:
    it has the same parameters, and in its config all of that scheme's fields.
    """

    name: str
    config: type
    build: Callable[[Any, AttentionDims], PositionScheme]
    expected_failures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    extends: str | None = None


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where a scheme or a task comes from, read from metadata without importing it."""

    name: str
    distribution: str
    version: str
    module: str

    def __str__(self) -> str:
        return f"{self.distribution} {self.version}"


class Registry:
    """What `points` offer of one kind. Build one with your own entry points in tests."""

    def __init__(self, points: Iterable[EntryPoint], kind: Kind = SCHEMES) -> None:
        self.kind = kind
        self._manager = plugin_manager()
        self._points: dict[str, list[EntryPoint]] = {}
        for point in points:
            self._points.setdefault(point.name, []).append(point)
        self._loaded: dict[str, Any] = {}  # a spec, or the PluginError that says why not

    @property
    def names(self) -> list[str]:
        """Every name on offer, sorted, whether or not its plugin works."""
        return sorted(self._points)

    def origins(self, name: str) -> list[Origin]:
        """The distributions that offer `name`: more than one is a conflict."""
        return [_origin(point) for point in self._points[name]]

    def get(self, name: str) -> Any:
        """The spec called `name`. Raises `PluginError` in one line."""
        if name not in self._points:
            raise PluginError(
                f"there is no {self.kind.word} {name!r}{nearest(name, self.names)}; "
                f"installed: {', '.join(self.names) or 'none'}"
            )
        if name not in self._loaded:
            try:
                self._loaded[name] = self._load(name)
            except PluginError as error:
                self._loaded[name] = error
        found = self._loaded[name]
        if isinstance(found, PluginError):
            raise found
        return found

    def failures(self) -> dict[str, PluginError]:
        """Those that were asked for and could not be loaded."""
        return {n: e for n, e in self._loaded.items() if isinstance(e, PluginError)}

    def config(self, values: Mapping[str, Any]) -> Any:
        """The checked config dataclass of a plain mapping `{name: ..., parameter: value}`.

        Raises `PluginError` if the plugin cannot be used, `ValueError` for a bad key or value.
        """
        return typed_config(self.get(values["name"]), values)

    def config_dirs(self) -> list[tuple[str, str | PluginError]]:
        """(plugin, its directory of YAML presets, or why it has none), of every plugin loaded."""
        found: list[tuple[str, str | PluginError]] = []
        for impl in self._manager.hook.posexp_config_dir.get_hookimpls():
            try:
                directory = Path(impl.function())
                if not directory.is_dir():
                    raise NotADirectoryError(f"{directory} is no directory")
                found.append((impl.plugin_name, str(directory.resolve())))
            except (Exception, SystemExit) as error:
                why = f"{impl.plugin_name}: its presets are left out: {told(error)}"
                found.append((impl.plugin_name, PluginError(why)))
        return found

    def _load(self, name: str) -> Any:
        origins, word = self.origins(name), self.kind.word
        if len(origins) > 1:
            both = " and ".join(str(o) for o in origins)
            raise PluginError(f"the {word} {name!r} is offered by {both}: keep one of them")
        plugin = f"the plugin of {word} {name!r} ({origins[0]}, {origins[0].module})"
        try:
            module = self._points[name][0].load()
        except (Exception, SystemExit) as error:
            raise PluginError(f"{plugin} cannot be imported: {told(error)}") from error
        specs = load_specs(module, self.kind, plugin, self._manager)
        match = [spec for spec in specs if spec.name == name]
        if not match:
            offered = ", ".join(spec.name for spec in specs) or "nothing"
            raise PluginError(
                f"{plugin} registers {offered}: an entry point is named as its {word}"
            )
        if len(match) > 1:
            raise PluginError(f"{plugin} registers {name!r} {len(match)} times")
        check_config(match[0], plugin)
        return match[0]


@cache
def registry() -> Registry:
    """The registry of the schemes that are installed."""
    return Registry(_points(SCHEMES), SCHEMES)


@cache
def task_registry() -> Registry:
    """The registry of the evaluation tasks that are installed."""
    return Registry(_points(TASKS), TASKS)


@cache
def family_registry() -> Registry:
    """The registry of the families of foreign checkpoints that are installed."""
    return Registry(_points(FAMILIES), FAMILIES)


def typed_config(spec: Any, values: Mapping[str, Any]) -> Any:
    """The config dataclass of `spec` with `values`; `name` and `defaults` are none of them.

    Raises `ValueError` for a bad key or value, in one line that names it.
    """
    values = {k: v for k, v in dict(values).items() if k not in ("name", "defaults")}
    known = [f.name for f in dataclasses.fields(spec.config) if f.name != "defaults"]
    for key in values:
        if key not in known:
            raise ValueError(
                f"{spec.name} has no parameter {key!r}{nearest(key, known)}; "
                f"it has {', '.join(known) or 'none'}"
            )
    try:
        typed = OmegaConf.merge(OmegaConf.structured(spec.config), values)
        for key in values:
            # For every plugin, so that none needs to: comparisons let NaN pass.
            if isinstance(typed[key], float) and not math.isfinite(typed[key]):
                raise ValueError(f"{spec.name}: {key} must be a finite number, got {typed[key]}")
        return OmegaConf.to_object(typed)
    except OmegaConfBaseException as error:
        first_line = str(error).splitlines()[0]
        where = ": ".join(filter(None, (spec.name, error.full_key)))
        raise ValueError(f"{where}: {first_line}") from error


def scheme_config(config: Mapping[str, Any]) -> Any:
    """The checked config dataclass of a scheme's plain mapping, as `Registry.config`."""
    return registry().config(config)


def build_scheme(config: Mapping[str, Any], dims: AttentionDims) -> PositionScheme:
    """The scheme that a plain mapping `{name: rope, theta: 10000.0}` describes, built for `dims`.

    Raises `PluginError` if the scheme cannot be used, `ValueError` for a bad parameter or for dims
    that the scheme cannot serve.
    """
    typed = scheme_config(config)
    spec: SchemeSpec = registry().get(config["name"])
    return spec.build(typed, dims)


def nearest(word: str, choices: Iterable[str]) -> str:
    """` (did you mean X?)` for the choice closest to `word`, or nothing."""
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _points(kind: Kind) -> list[Any]:
    from posexp.local import local_points  # which needs PluginError and `nearest` from here

    return [*entry_points(group=kind.group), *local_points(kind)]


def _origin(point: EntryPoint) -> Origin:
    distribution = point.dist
    name = distribution.name if distribution else "unknown"
    version = distribution.version if distribution else "?"
    return Origin(point.name, name, version, point.module)
