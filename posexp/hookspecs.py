"""Every hook a plugin can implement. Discovery only: no hook runs inside `forward`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from posexp.family import FamilySpec
    from posexp.registry import SchemeSpec
    from posexp.task import TaskSpec

hookspec = pluggy.HookspecMarker("posexp")
hookimpl = pluggy.HookimplMarker("posexp")


@hookspec
def posexp_schemes() -> Iterable[SchemeSpec]:
    """Return the position schemes that this plugin offers."""


@hookspec
def posexp_tasks() -> Iterable[TaskSpec]:
    """Return the evaluation tasks that this plugin offers."""


@hookspec
def posexp_families() -> Iterable[FamilySpec]:
    """Return the families of foreign checkpoints that this plugin can translate."""


@hookspec
def posexp_config_dir() -> str:
    """Return the directory of this plugin's own YAML presets, laid out like `conf/`."""
