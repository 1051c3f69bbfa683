"""What code, not YAML, offers Hydra: schemes, the launcher and plugins' preset directories."""

from __future__ import annotations

import dataclasses
import sys

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from posexp.registry import PluginError, registry


def register_schemes() -> dict[str, PluginError]:
    """Offer every scheme that loads as the Hydra option `scheme/<name>`.

    Returns the schemes whose plugin is broken: they stay off the list and block nothing else.
    """
    broken = {}
    for name in registry().names:
        try:
            node = scheme_node(name)
        except PluginError as error:
            broken[name] = error
            continue
        origin = str(registry().origins(name)[0])
        ConfigStore.instance().store(group="scheme", name=name, node=node, provider=origin)
    return broken


def scheme_node(name: str) -> type:
    """The scheme's dataclass with a field `name`; it keeps its class name for Hydra's messages.

    Raises `PluginError` if the plugin is broken.
    """
    spec = registry().get(name)
    return dataclasses.make_dataclass(
        spec.config.__name__,
        [("name", str, dataclasses.field(default=spec.name))],
        bases=(spec.config,),
        frozen=spec.config.__dataclass_params__.frozen,
    )


class PluginPresets(SearchPathPlugin):
    """Adds the YAML directories of scheme plugins behind posexp's own `conf/`."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append every directory that exists; one broken plugin must not stop Hydra."""
        for plugin, directory in registry().config_dirs():
            if isinstance(directory, PluginError):
                print(f"posexp: note: {directory}", file=sys.stderr)
            else:
                search_path.append(provider=plugin, path=directory)


def register_search_path() -> None:
    """Let Hydra ask `PluginPresets`; a hydra_plugins package would bother every Hydra app."""
    Plugins.instance().register(PluginPresets)
