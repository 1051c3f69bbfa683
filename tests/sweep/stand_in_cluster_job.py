"""Takes the place of `ClusterJob`: the job that it starts is stand_in_job.py, on any node."""

from posexp.sweep import process
from posexp.sweep.cluster_job import ClusterJob


class StandInClusterJob(ClusterJob):
    def __call__(self) -> str:
        process.JOB_MODULE = "stand_in_job"
        return super().__call__()
