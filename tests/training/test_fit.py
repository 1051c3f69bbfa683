"""A job is a job wherever it was started."""

import pytest
import pytorch_lightning as pl

from posexp.training.fit import cluster_environment

SLURM = {
    "SLURM_JOB_ID": "5", "SLURM_JOB_NAME": "train", "SLURM_NTASKS": "1", "SLURM_NNODES": "1",
    "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0",
}  # fmt: skip
QUIET = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}


@pytest.mark.parametrize(("own", "handlers"), [(True, 0), (False, 1)])
def test_lightning_does_not_requeue_a_slurm_job(monkeypatch, own, handlers):
    """What it would do without being told is the second source."""
    for name, value in SLURM.items():
        monkeypatch.setenv(name, value)
    plugins = [cluster_environment()] if own else []
    trainer = pl.Trainer(accelerator="cpu", devices=1, plugins=plugins, **QUIET)
    found = trainer._accelerator_connector.cluster_environment
    assert int(getattr(found, "auto_requeue", False)) == handlers


def test_the_ranks_of_torchrun_are_ranks(monkeypatch):
    for name in ("TORCHELASTIC_RUN_ID", "GROUP_RANK", "RANK", "LOCAL_RANK"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    found = cluster_environment()
    assert (found.global_rank(), found.world_size()) == (1, 2)
