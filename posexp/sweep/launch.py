"""Jobs handed to a Hydra launcher: posexp's own, or that of another engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import open_dict

from posexp.composition.compose import CONFIG_NAME
from posexp.sweep.jobs import Job
from posexp.sweep.launcher import SweepTask


def launch(hydra: Hydra, directory: Path, launcher: Mapping[str, Any], jobs: Sequence[Job]) -> None:
    """Run `jobs` of the sweep in `directory`; how they ended is in their directories.

    No sweeper stands in between: it would count the jobs again, and here they may be some jobs of
    a sweep that was begun before.
    """
    lines = [f"hydra/launcher={launcher['name']}", f"hydra.sweep.dir={quoted(str(directory))}"]
    # The scheme of the default config need not be one that loads.
    config = hydra.compose_config(
        CONFIG_NAME, [*lines, "~scheme"], run_mode=RunMode.MULTIRUN, with_log_configuration=False
    )
    if launcher["settings"] is not None:
        with open_dict(config):
            config.hydra.launcher = launcher["settings"]
    plugin = Plugins.instance().instantiate_launcher(
        hydra_context=HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(config)),
        task_function=SweepTask(list(jobs)),
        config=config,
    )
    overrides = [list(job.overrides) for job in jobs]
    if "posexp" not in type(plugin).__module__.split("."):
        # Others compose a job again, and make the directory that Hydra counts for it.
        for line, job in zip(overrides, jobs, strict=True):
            name = job.directory.relative_to(directory).as_posix()
            line.append(f"hydra.sweep.subdir={quoted(name)}")
    plugin.launch(overrides, initial_job_idx=0)


def quoted(text: str) -> str:
    """`text` as a value in an override, taken literally."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\${")
    return f"'{escaped}'"
