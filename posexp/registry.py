"""From installed distributions to schemes: entry points, provenance, conflicts, broken plugins.

The entry points of the group `posexp.schemes` are the catalogue; an entry point's name is the
name of its scheme. Listing reads metadata only. A scheme's module is imported when it is asked
for, each in its own try: a broken plugin is remembered and raised only when it is selected.
Evaluation tasks are found in the same way, in the group `posexp.tasks`.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from posexp import hookspecs

if TYPE_CHECKING:
    from posexp.dims import AttentionDims
    from posexp.scheme import PositionScheme


class PluginError(Exception):
    """A scheme that is unknown, or whose plugin cannot be used. The message is one line."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """What is looked for: its word in messages, its entry point group and its hook.

    The hook returns specs, objects with a `name` and a `config` (a dataclass with defaults).
    """

    word: str
    group: str
    hook: str


SCHEMES = Kind("scheme", "posexp.schemes", "posexp_schemes")
TASKS = Kind("task", "posexp.tasks", "posexp_tasks")


@dataclasses.dataclass(frozen=True)
class SchemeSpec:
    """What a plugin's `posexp_schemes` hook returns for each of its schemes.

    `config` is a dataclass whose fields all have defaults (or `omegaconf.MISSING`); `build` makes
    the module from a config and the dims, usually the scheme class itself. `expected_failures`
    names checks of `posexp.testing` that the scheme fails by its nature, each with the reason.
    """

    name: str
    config: type
    build: Callable[[Any, AttentionDims], PositionScheme]
    expected_failures: Mapping[str, str] = dataclasses.field(default_factory=dict)


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
        self._manager = pluggy.PluginManager("posexp")
        self._manager.add_hookspecs(hookspecs)
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
        spec = self.get(values["name"])
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
            return OmegaConf.to_object(typed)
        except OmegaConfBaseException as error:
            first_line = str(error).splitlines()[0]
            raise ValueError(f"{spec.name}: {first_line}") from error

    def config_dirs(self) -> list[tuple[str, str | PluginError]]:
        """(plugin, its directory of YAML presets, or why it has none), of every plugin loaded."""
        found: list[tuple[str, str | PluginError]] = []
        for impl in self._manager.hook.posexp_config_dir.get_hookimpls():
            try:
                directory = Path(impl.function())
                if not directory.is_dir():
                    raise NotADirectoryError(f"{directory} is no directory")
                found.append((impl.plugin_name, str(directory.resolve())))
            except Exception as error:
                why = f"{impl.plugin_name}: its presets are left out: {error}"
                found.append((impl.plugin_name, PluginError(why)))
        return found

    def _load(self, name: str) -> Any:
        origins, word = self.origins(name), self.kind.word
        if len(origins) > 1:
            both = " and ".join(str(o) for o in origins)
            raise PluginError(f"the {word} {name!r} is offered by {both}: uninstall one of them")
        plugin = f"the plugin of {word} {name!r} ({origins[0]}, {origins[0].module})"
        try:
            module = self._points[name][0].load()
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"{plugin} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        specs = self._register(module, plugin)
        match = [spec for spec in specs if spec.name == name]
        if len(match) != 1:
            offered = ", ".join(spec.name for spec in specs) or "nothing"
            raise PluginError(
                f"{plugin} registers {offered}: an entry point is named as its {word}"
            )
        _check_config(match[0], plugin)
        return match[0]

    def _register(self, module: ModuleType, plugin: str) -> list[Any]:
        if not self._manager.is_registered(module):
            self._manager.register(module)
            try:
                # A misspelt hook would otherwise be ignored: only known names count.
                self._manager.check_pending()
            except pluggy.PluginValidationError as error:
                self._manager.unregister(module)
                raise PluginError(f"{plugin} has a misspelt hook: {error}") from error
        impls = getattr(self._manager.hook, self.kind.hook).get_hookimpls()
        try:
            return [spec for impl in impls if impl.plugin is module for spec in impl.function()]
        except Exception as error:
            raise PluginError(
                f"{plugin}: its hook {self.kind.hook} raised {type(error).__name__}: {error}"
            ) from error


@cache
def registry() -> Registry:
    """The registry of the schemes that are installed."""
    return Registry(entry_points(group=SCHEMES.group), SCHEMES)


@cache
def task_registry() -> Registry:
    """The registry of the evaluation tasks that are installed."""
    return Registry(entry_points(group=TASKS.group), TASKS)


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


def _origin(point: EntryPoint) -> Origin:
    distribution = point.dist
    name = distribution.name if distribution else "unknown"
    version = distribution.version if distribution else "?"
    return Origin(point.name, name, version, point.module)


def _check_config(spec: Any, plugin: str) -> None:
    if not (isinstance(spec.config, type) and dataclasses.is_dataclass(spec.config)):
        raise PluginError(f"{plugin}: its config {spec.config!r} is not a dataclass")
    for field in dataclasses.fields(spec.config):
        if field.name == "name":
            raise PluginError(f"{plugin}: its config has a field 'name', which posexp sets")
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise PluginError(
                f"{plugin}: its config {spec.config.__name__} gives {field.name!r} no default; "
                "use omegaconf.MISSING for one that the user must set"
            )
