import os
from pathlib import Path

import pytest
import torch

from posexp.sweep import process
from posexp.sweep.jobs import Job

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    """Jobs of these tests run stand_in_job.py."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(HERE), before])))
    monkeypatch.setattr(process, "JOB_MODULE", "stand_in_job")
    yield
    torch.set_flush_denormal(False)  # `posexp train` sets it for its process


@pytest.fixture
def job(tmp_path):
    """A job that does `what`; its directory is made."""

    def make(what="complete", name="0_job", seed=0, devices=1, **extra):
        trainer = {"devices": devices, "accelerator": "cpu"}
        config = {"seed": seed, "trainer": trainer, "stand_in": {str(seed): what}}
        return Job(tmp_path / name, config, **extra)

    return make
