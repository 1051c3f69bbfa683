"""What code, not YAML, offers Hydra: schemes, tasks, and plugins' preset directories."""

from __future__ import annotations

import dataclasses
import sys

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from posexp.registry import PluginError, Registry, registry, task_registry


def registries() -> dict[str, Registry]:
    """Hydra's group -> the plugins that fill it."""
    return {found.kind.word: found for found in (registry(), task_registry())}


def register_plugins() -> None:
    """Offer every scheme and task that loads as the Hydra option `scheme/<name>` or `task/<name>`.

    Those whose plugin is broken stay off the list and block nothing else.
    """
    for group, found in registries().items():
        for name in found.names:
            try:
                node = config_node(found, name)
            except PluginError:
                continue
            origin = str(found.origins(name)[0])
            ConfigStore.instance().store(group=group, name=name, node=node, provider=origin)


def config_node(found: Registry, name: str) -> type:
    """The plugin's dataclass with a field `name`; it keeps its class name for Hydra's messages.

    Raises `PluginError` if the plugin is broken.
    """
    spec = found.get(name)
    return dataclasses.make_dataclass(
        spec.config.__name__,
        [("name", str, dataclasses.field(default=spec.name))],
        bases=(spec.config,),
        frozen=spec.config.__dataclass_params__.frozen,
    )


class PluginPresets(SearchPathPlugin):
    """Adds the YAML directories of plugins behind posexp's own `conf/`."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append every directory that exists; one broken plugin must not stop Hydra."""
        every = dict(pair for found in registries().values() for pair in found.config_dirs())
        for plugin, directory in every.items():
            if isinstance(directory, PluginError):
                print(f"posexp: note: {directory}", file=sys.stderr)
            else:
                search_path.append(provider=plugin, path=directory)


def register_search_path() -> None:
    """Let Hydra ask `PluginPresets`; a hydra_plugins package would bother every Hydra app."""
    Plugins.instance().register(PluginPresets)
