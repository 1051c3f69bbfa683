"""Hydra set up for posexp, and put away again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hydra import version
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.global_hydra import GlobalHydra

from posexp.composition.location import conf_directory
from posexp.composition.resolvers import register_resolvers
from posexp.composition.store import register_plugins, register_search_path


@contextmanager
def hydra_session() -> Iterator[Hydra]:
    """Hydra with posexp's `conf/`, every scheme and task that loads, and the sweep launcher."""
    # The launcher imports nothing of a job, so this costs little even for one run.
    from posexp.sweep.launcher import register_launcher

    version.setbase("1.3")
    register_resolvers()
    register_plugins()
    register_search_path()
    register_launcher()
    GlobalHydra.instance().clear()
    search_path = create_config_search_path(str(conf_directory()))
    try:
        yield Hydra.create_main_hydra2("posexp", search_path)
    finally:
        GlobalHydra.instance().clear()
