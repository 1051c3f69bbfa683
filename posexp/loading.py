"""From a plugin's module to the specs it offers; whatever it gets wrong is told in one line."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

import pluggy
from omegaconf import OmegaConf

from posexp import hookspecs


class PluginError(Exception):
    """A scheme that is unknown, or whose plugin cannot be used. The message is one line."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """What is looked for: its word in messages, its entry point group and its hook.

    The word is also the section of a job's config that chooses one, if any does. The hook returns
    specs, objects with a `name` and a `config` (a dataclass with defaults).
    """

    word: str
    group: str
    hook: str


SCHEMES = Kind("scheme", "posexp.schemes", "posexp_schemes")
TASKS = Kind("task", "posexp.tasks", "posexp_tasks")
FAMILIES = Kind("family", "posexp.families", "posexp_families")
KINDS = (SCHEMES, TASKS, FAMILIES)


def plugin_manager() -> pluggy.PluginManager:
    """A manager that knows posexp's hooks and no plugin yet."""
    manager = pluggy.PluginManager("posexp")
    manager.add_hookspecs(hookspecs)
    return manager


def load_specs(
    module: ModuleType, kind: Kind, plugin: str, manager: pluggy.PluginManager
) -> list[Any]:
    """The specs of `kind` that `module` offers; it stays registered with `manager`.

    Raises `PluginError`, which begins with `plugin`, for a misspelt or failing hook.
    """
    if not manager.is_registered(module):
        try:
            manager.register(module)
            # A misspelt hook would otherwise be ignored: only known names count.
            manager.check_pending()
        except pluggy.PluginValidationError as error:
            if manager.is_registered(module):  # not where its parameters are wrong (pluggy 1.7)
                manager.unregister(module)
            raise PluginError(f"{plugin} has a misspelt hook: {one_line(error)}") from error
    impls = getattr(manager.hook, kind.hook).get_hookimpls()
    try:
        specs = [spec for impl in impls if impl.plugin is module for spec in impl.function()]
    except (Exception, SystemExit) as error:
        raise PluginError(f"{plugin}: its hook {kind.hook} raised {told(error)}") from error
    for spec in specs:
        if not isinstance(getattr(spec, "name", None), str) or not hasattr(spec, "config"):
            raise PluginError(
                f"{plugin}: its hook {kind.hook} returned {one_line(repr(spec))}, which is no "
                f"{kind.word.capitalize()}Spec"
            )
    return specs


def check_config(spec: Any, plugin: str) -> None:
    """Raise `PluginError` where a spec's config cannot become an option of Hydra's."""
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
    try:
        OmegaConf.structured(spec.config)
    except Exception as error:
        raise PluginError(
            f"{plugin}: its config {spec.config.__name__} cannot be used: {told(error)}"
        ) from error


def told(error: BaseException) -> str:
    """`ImportError: no module named flux`, in one line."""
    return f"{type(error).__name__}: {one_line(error)}"


def one_line(value: object) -> str:
    """The text of `value` with every run of white space as one space."""
    return " ".join(str(value).split())
