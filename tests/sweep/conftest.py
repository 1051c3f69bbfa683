import os
import socket
import time
from pathlib import Path

import pytest
import torch

from posexp.status import begin
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


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """`commands(squeue="exit 1")`: shell scripts that take the place of Slurm's commands."""
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=os.pathsep)

    def write(**scripts):
        for name, script in scripts.items():
            command = tmp_path / "bin" / name
            command.parent.mkdir(exist_ok=True)
            command.write_text(f"#!/bin/sh\n{script}\n")
            command.chmod(0o755)

    return write


@pytest.fixture
def on_node7(monkeypatch):
    """`on_node7(job, 40)`: it says that it runs there, and gave its last sign 40 s ago."""

    def make(job, seconds):
        with monkeypatch.context() as patch:
            patch.setattr(socket, "gethostname", lambda: "node7")
            begin(job.directory)
        os.utime(job.directory / "status.json", (0, time.time() - seconds))

    return make
