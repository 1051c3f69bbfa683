"""What code, not YAML, offers Hydra: schemes, the launcher and plugins' preset directories."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

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

    Raises `PluginError` if the plugin is broken or its config has a `name` itself.
    """
    spec = registry().get(name)
    fields = {field.name for field in dataclasses.fields(spec.config)}
    if "name" in fields:
        raise PluginError(
            f"the config of scheme {spec.name!r} has a field 'name', which posexp itself sets"
        )
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
        try:
            directories = registry().config_dirs()
        except Exception as error:
            _note(f"a plugin's posexp_config_dir failed: {type(error).__name__}: {error}")
            return
        for plugin, directory in directories:
            if Path(directory).is_dir():
                search_path.append(provider=plugin, path=str(Path(directory).resolve()))
            else:
                _note(f"the plugin {plugin} names {directory} for presets: no such directory")


def register_search_path() -> None:
    """Let Hydra ask `PluginPresets`; a hydra_plugins package would bother every Hydra app."""
    Plugins.instance().register(PluginPresets)


def _note(text: str) -> None:
    print(f"posexp: note: {text}", file=sys.stderr)
