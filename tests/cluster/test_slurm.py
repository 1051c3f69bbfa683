"""hydra/launcher=slurm on a real Slurm of one node, which tests/cluster/slurm/cluster starts."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from posexp.training.checkpoints import model_weights, read_checkpoint

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("slurmctld") is None or os.geteuid() != 0,
        reason="needs root, and Debian's packages slurm-wlm and munge",
    ),
]
TINY = [
    *("tracking=csv", "model.d_model=16", "model.n_heads=2", "model.n_layers=1", "data=text"),
    *("trainer.context_length=16", "trainer.batch_size=4", "trainer.val_every=null"),
    *("trainer.accelerator=cpu", "trainer.threads=1", "trainer.precision=32-true"),
    *("evaluation.targets=4", "evaluation.anchors=2", "evaluation.lengths=[16]"),
    *("evaluation.literature_windows=1", "evaluation.curve_windows=1", "model.dropout=0.1"),
]


def wait_for(what, seconds=150):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    state = tmp_path_factory.mktemp("slurm")
    script = Path(__file__).parent / "slurm" / "cluster"
    ready = ["sh", "-c", f"touch {state}/ready; exec sleep 3600"]
    cluster = subprocess.Popen([script, "run", state, *ready])
    try:
        wait_for(lambda: (state / "ready").exists() or cluster.poll() is not None)
        assert cluster.poll() is None, "the cluster did not start"
        yield {**os.environ, "SLURM_CONF": str(state / "slurm.conf"), "OMP_NUM_THREADS": "1"}
    finally:
        cluster.terminate()
        cluster.wait(30)


@pytest.fixture
def sweep(slurm):
    """`sweep(directory, override, ...)` starts `posexp train -m` and does not wait for it."""
    started = []

    def start(directory, *overrides):
        train = [sys.executable, "-m", "posexp.cli", "train", "-m", f"hydra.sweep.dir={directory}"]
        command = [*train, "hydra.sweep.subdir=${trainer.devices}", *overrides, *TINY]
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        started.append(subprocess.Popen(command, env=slurm, **pipe))
        return started[-1]

    yield start
    for process in started:
        with process:
            process.kill()


def ended(process):
    output, _ = process.communicate(timeout=300)
    return process.returncode, output


def status(directory):
    return json.loads((directory / "status.json").read_text())


def requeue(environment, number):
    """By hand, of which Slurm gives no warning but SIGTERM."""
    subprocess.run(["scontrol", "requeue", number], env=environment, check=True)


def preempt(environment, number):
    """By a job that wants the whole node: Slurm signals, and waits."""
    urgent = ["sbatch", "--partition=urgent", "--ntasks=4", "--output=/dev/null", "--wrap=sleep 1"]
    subprocess.run(urgent, env=environment, check=True, capture_output=True)


@pytest.mark.parametrize(("devices", "disturb"), [("1", preempt), ("2", requeue)])
def test_a_job_that_loses_its_place_ends_as_if_undisturbed(
    slurm, sweep, text, tmp_path, devices, disturb
):
    line = [f"trainer.devices={devices}", f"data.path={text}", "trainer.max_steps=600"]
    line += ["trainer.checkpoint_every=250"]
    whole = sweep(tmp_path / "whole", *line)
    disturbed = sweep(tmp_path / "cut", "hydra/launcher=slurm", *line)
    job = tmp_path / "cut" / devices
    wait_for(lambda: "step 60/" in _text(job / "console.log"))
    disturb(slurm, json.loads((job / "cluster.json").read_text())["slurm"])

    for process in (whole, disturbed):
        code, output = ended(process)
        assert code == 0, output
    log = _text(job / "console.log")
    assert "saved at step" in log
    assert status(job)["attempts"] == 2
    assert log.count("precision 32-true on cpu") == 2 * int(devices)
    got = model_weights(read_checkpoint(job))
    expected = model_weights(read_checkpoint(tmp_path / "whole" / devices))
    assert got.keys() == expected.keys()
    for name, weight in expected.items():
        assert torch.equal(got[name], weight), f"{name} differs"


def test_the_launcher_is_killed_and_the_same_command_finds_its_jobs(sweep, text, tmp_path):
    line = ["hydra/launcher=slurm", "trainer.devices=1,2", f"data.path={text}"]
    line += ["trainer.max_steps=100"]
    jobs = [tmp_path / "s" / devices for devices in ("1", "2")]
    first = sweep(tmp_path / "s", *line)
    wait_for(lambda: all((job / "cluster.json").exists() for job in jobs))
    first.send_signal(signal.SIGKILL)
    first.communicate()
    numbers = [_text(job / "cluster.json") for job in jobs]
    code, output = ended(sweep(tmp_path / "s", *line))
    assert code == 0, output
    assert [_text(job / "cluster.json") for job in jobs] == numbers
    assert [(status(job)["status"], status(job)["attempts"]) for job in jobs] == [
        ("completed", 1),
        ("completed", 1),
    ]


def test_what_slurm_ends_is_interrupted(slurm, sweep, text, tmp_path):
    line = ["hydra/launcher=slurm", f"data.path={text}", "trainer.max_steps=100000"]
    line += ["trainer.checkpoint_every=20"]
    process = sweep(tmp_path / "s", *line)
    job = tmp_path / "s" / "1"
    wait_for((job / "checkpoints" / "last.ckpt").exists)
    number = json.loads((job / "cluster.json").read_text())["slurm"]
    subprocess.run(["scancel", number], env=slurm, check=True)
    code, output = ended(process)
    assert code == 130, output
    assert status(job)["status"] == "interrupted"
    assert "saved at step" in _text(job / "console.log")


def _text(path):
    return path.read_text() if path.exists() else ""
