"""The Hydra launcher of `hydra/launcher=slurm`: every job of a sweep is a job of a cluster.

submitit writes the batch scripts and puts back into the queue what lost its place.
hydra-submitit-launcher is not used: it asks the same resources for every job, its requeue does not
wait for a checkpoint, and the first job that fails hides what became of the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from posexp.files import read_json, write_json
from posexp.sweep.cluster_job import ClusterJob
from posexp.sweep.cluster_watch import ENDED_STATES, ClusterSilentError, squeue, watch
from posexp.sweep.directory import claim_job
from posexp.sweep.jobs import Job, read_status

FOLDER = ".submitit"  # in a sweep's directory: batch scripts, and what the cluster itself printed
PLACE_FILE = "cluster.json"  # in a job's directory: the cluster's name of it

# Submitit's own words; every other parameter is one of sbatch.
_SHARED = ("name", "timeout_min", "mem_gb", "cpus_per_task", "gpus_per_node")


class ClusterLauncher(Launcher):
    """Submits the jobs, and tells how they go on until the last has ended.

    It may be ended meanwhile: the jobs stay in the queue, and the same sweep finds them there.
    """

    def __init__(self, cluster: str, max_num_timeout: int, **parameters: Any) -> None:
        self._cluster = cluster
        self._max_num_timeout = max_num_timeout
        self._parameters = {
            key: OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
            for key, value in parameters.items()
            if value is not None
        }

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Take the jobs from the task function."""
        self._jobs: list[Job] = task_function.jobs
        self._directory = Path(str(config.hydra.sweep.dir)).absolute()

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        """Run the jobs; `return_value` is the status, so that no failure stops the sweep.

        Raises `ValueError` if the cluster refuses them, or no longer answers.
        """
        from posexp.sweep.launcher import job_return

        jobs = self._jobs[initial_job_idx : initial_job_idx + len(job_overrides)]
        if [job.overrides for job in jobs] != [list(overrides) for overrides in job_overrides]:
            raise RuntimeError("the sweeper changed the jobs after they were checked")
        left = [job for job in jobs if not job.ended]
        try:
            places = self._find(left)
            places |= self._submit([job for job in left if job.name not in places])
            self._watch(left, places)
        except ClusterSilentError as error:
            raise ClusterSilentError(
                f"the cluster does not answer ({error}): its jobs are left to it; once it answers, "
                f"posexp sweep resume {self._directory} finds them, and goes on with what is left"
            ) from error
        return [job_return(job, read_status(job.directory)["status"]) for job in jobs]

    def _find(self, jobs: Sequence[Job]) -> dict[str, Any]:
        """The jobs that an earlier launcher submitted and that Slurm has not ended, by name."""
        if self._cluster != "slurm":
            return {}
        from submitit import SlurmJob

        numbers = {
            job.name: number
            for job in jobs
            if (number := (read_json(job.directory / PLACE_FILE) or {}).get(self._cluster))
        }
        # Where it does not answer, a job that it has would be submitted twice.
        states = squeue() if numbers else {}
        return {
            name: SlurmJob(self._directory / FOLDER / "%j", number)
            for name, number in numbers.items()
            if number in states and states[number] not in ENDED_STATES
        }

    def _submit(self, jobs: Sequence[Job]) -> dict[str, Any]:
        """One array of jobs for each kind of place that they ask for.

        Raises `ValueError` if the cluster refuses them.
        """
        from submitit import AutoExecutor
        from submitit.core.utils import FailedSubmissionError, UncompletedJobError

        alike: dict[tuple[tuple[str, int], ...], list[Job]] = defaultdict(list)
        for job in jobs:
            claim_job(job, resume=True)
            alike[tuple(resources(job).items())].append(job)
        submitted = {}
        for wanted, group in alike.items():
            executor = AutoExecutor(
                self._directory / FOLDER / "%j",
                cluster=self._cluster,
                **{f"{self._cluster}_max_num_timeout": self._max_num_timeout},
            )
            parameters = {"name": self._directory.name, **dict(wanted), **self._parameters}
            executor.update_parameters(
                **{k if k in _SHARED else f"slurm_{k}": v for k, v in parameters.items()}
            )
            try:
                places = executor.submit_array([ClusterJob(job) for job in group])
            except (FailedSubmissionError, UncompletedJobError) as error:
                raise ValueError(f"the cluster refused the jobs: {_last_line(error)}") from error
            for job, place in zip(group, places, strict=True):
                write_json(job.directory / PLACE_FILE, {self._cluster: place.job_id})
                submitted[job.name] = place
        return submitted

    def _watch(self, jobs: Sequence[Job], places: Mapping[str, Any]) -> None:
        try:
            watch(jobs, places)
        except KeyboardInterrupt:
            self._leave(places)
            raise

    def _leave(self, places: Mapping[str, Any]) -> None:
        if self._cluster == "slurm":
            ids = " ".join(place.job_id for place in places.values())
            after = (
                f"stay in the queue: posexp sweep resume {self._directory} watches them again, "
                f"scancel {ids} ends them"
            )
        else:
            after = f"save and stop: posexp sweep resume {self._directory} goes on with them"
            for place in places.values():
                place.cancel()
        print(f"\nposexp: the jobs {after}", flush=True)


def _last_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__


def resources(job: Job) -> dict[str, int]:
    """What a job asks of its node: a core for every thread and loader process, and its GPUs."""
    trainer = job.config["trainer"]
    asked = {"cpus_per_task": job.devices * (trainer["threads"] + trainer["workers"])}
    if trainer["accelerator"] == "gpu":
        asked["gpus_per_node"] = job.devices
    return asked
