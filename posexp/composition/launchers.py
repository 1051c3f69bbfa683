"""What the launchers of other engines need, asked before anything is written."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from posexp.composition.errors import ConfigurationError


def check_launcher(name: str, settings: Mapping[str, Any]) -> None:
    """Raise `ConfigurationError` if `hydra/launcher=name` cannot start a job from this machine."""
    target = str(settings.get("_target_"))
    if target.endswith(".ClusterLauncher"):
        _need("submitit", name, "slurm")
        if settings["cluster"] == "slurm" and shutil.which("sbatch") is None:
            raise ConfigurationError(
                f"hydra/launcher={name}: there is no sbatch on this machine; start the sweep where "
                "Slurm's commands are, or try hydra/launcher=submitit_local"
            )
    if target.endswith(".RayLauncher"):
        _need("hydra_plugins.hydra_ray_launcher", name, "ray")


def runs_elsewhere(settings: Mapping[str, Any]) -> bool:
    """Whether jobs run on machines of which this one knows nothing."""
    ray = settings.get("ray") or {}
    return settings.get("cluster") == "slurm" or bool((ray.get("init") or {}).get("address"))


def _need(module: str, name: str, extra: str) -> None:
    if find_spec(module) is None:
        raise ConfigurationError(f"hydra/launcher={name} needs: pip install 'posexp[{extra}]'")
