"""Where jobs can run at the same time, and how many cores each of them gets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import cycle, islice

from posexp.sweep.jobs import Job


def places(jobs: Sequence[Job], n_jobs: int | None = None) -> list[dict[str, str]]:
    """The environment of every place where a job can run at the same time as others.

    On CPUs there are `n_jobs` of them, 1 by default. On GPUs each one that is visible is a place
    of its own; `n_jobs` places share them out. Where a job wants several GPUs, one job runs at a
    time.
    """
    if not all(job.config["trainer"]["accelerator"] in ("gpu", "cuda") for job in jobs):
        return [{}] * min(n_jobs or 1, max(1, len(jobs)))
    if any(job.devices > 1 for job in jobs):
        return [{}]
    names = visible_gpus()
    if len(names) < 2:
        return [{}] * min(n_jobs or 1, max(1, len(jobs)))
    count = min(n_jobs or len(names), len(jobs))
    return [{"CUDA_VISIBLE_DEVICES": name} for name in islice(cycle(names), count)]


def cores_a_job(cores: int, n_jobs: int | None, on_gpu: bool, wide: bool) -> int:
    """The share of `cores` for each of the jobs that run at the same time.

    `on_gpu` is whether jobs train on GPUs, `wide` whether one of them wants several devices.
    """
    at_once = n_jobs or (len(visible_gpus()) if on_gpu and not wide else 1)
    return max(1, cores // max(1, at_once))


def check_n_jobs(n_jobs: int | None) -> None:
    """Raise `ValueError` for a number of jobs that cannot be."""
    if n_jobs is not None and n_jobs < 1:
        raise ValueError(
            f"hydra.launcher.n_jobs={n_jobs}: at least 1 job runs at a time; null is 1 on CPUs "
            "and one for each GPU"
        )


def visible_gpus() -> list[str]:
    """The names by which CUDA_VISIBLE_DEVICES can choose each GPU that this process may use."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        import torch

        visible = ",".join(map(str, range(torch.cuda.device_count())))
    return [name.strip() for name in visible.split(",") if name.strip()]
