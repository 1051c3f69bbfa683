"""The Hydra launcher `posexp`: what the sweeper hands over runs as checked, job by job."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from posexp.sweep.directory import claim_job
from posexp.sweep.jobs import Job
from posexp.sweep.process import JobProcess
from posexp.sweep.run import JobRunner


@dataclasses.dataclass(frozen=True)
class SweepTask:
    """The jobs of a sweep, and the task function that any Hydra launcher can call for one.

    Hydra composes a job again where it runs; what runs here is the job as it was checked, with the
    machine's settings resolved once for the whole sweep.
    """

    jobs: list[Job]

    def __call__(self, config: DictConfig) -> str:
        """Run the job of the current Hydra context. Raises `RuntimeError` if it fails."""
        job = self.jobs[int(HydraConfig.get().job.num)]
        claim_job(job, resume=True)
        process = JobProcess(job, wait=True)
        status = process.run(lambda line: print(f"{job.label} | {line}", flush=True))
        if status in ("failed", "interrupted"):
            raise RuntimeError(f"{job.name} {status}; see {job.log}")
        return status


class PosexpLauncher(Launcher):
    """Each job in a fresh process; a failed one is recorded and the others go on.

    `n_jobs` run at once; None is 1 on CPUs, and one for each GPU.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self._n_jobs = n_jobs

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Take the jobs from the task function. Raises `TypeError` if it is not ours."""
        if not isinstance(task_function, SweepTask):
            raise TypeError("hydra/launcher=posexp runs the jobs of `posexp train -m` only")
        self._task = task_function

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run the jobs; `return_value` is the status, so that no failure stops the sweep."""
        jobs = self._task.jobs[initial_job_idx : initial_job_idx + len(job_overrides)]
        statuses = JobRunner(self._n_jobs).run(jobs)
        return [job_return(job, status) for job, status in zip(jobs, statuses, strict=True)]


@dataclasses.dataclass
class PosexpLauncherConfig:
    """What `hydra/launcher=posexp` composes to."""

    _target_: str = "hydra_plugins.posexp.PosexpLauncher"
    n_jobs: int | None = None


def register_launcher() -> None:
    """Offer Hydra the option `hydra/launcher=posexp`, and the class behind `slurm`.

    Hydra imports launchers from `hydra_plugins` only. A package of that name on disk would be
    imported by every Hydra app on the machine, so the module exists in this process alone.
    """
    from posexp.sweep.cluster import ClusterLauncher

    try:
        parent = import_module("hydra_plugins")
    except ImportError:
        parent = sys.modules["hydra_plugins"] = ModuleType("hydra_plugins")
        parent.__path__ = []
    module = ModuleType("hydra_plugins.posexp")
    parent.posexp = sys.modules[module.__name__] = module
    for launcher in (PosexpLauncher, ClusterLauncher):
        setattr(module, launcher.__name__, launcher)
        launcher.__module__ = module.__name__
        Plugins.instance().register(launcher)
    ConfigStore.instance().store(
        group="hydra/launcher", name="posexp", node=PosexpLauncherConfig, provider="posexp"
    )


def job_return(job: Job, status: str) -> JobReturn:
    """What Hydra wants to hear of a job that ended with `status`."""
    result = JobReturn(
        overrides=job.overrides,
        cfg=OmegaConf.create(job.config),
        working_dir=str(job.directory),
        task_name=job.name,
        status=JobStatus.COMPLETED,
    )
    result.return_value = status
    return result
