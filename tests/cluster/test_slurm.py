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
JOBS = "trainer.devices=1,2"


def wait_for(what, seconds=60):
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


def posexp(environment, directory, *overrides):
    command = [sys.executable, "-m", "posexp.cli", "train", "-m", f"hydra.sweep.dir={directory}"]
    return subprocess.Popen(
        [*command, "hydra.sweep.subdir=${trainer.devices}", *overrides, *TINY],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def ended(process):
    output, _ = process.communicate(timeout=300)
    return process.returncode, output


def status(directory):
    return json.loads((directory / "status.json").read_text())["status"]


def test_a_job_that_is_preempted_and_one_that_is_requeued_end_as_if_undisturbed(
    slurm, text, tmp_path
):
    line = [JOBS, f"data.path={text}", "trainer.max_steps=600", "trainer.checkpoint_every=250"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    code, output = ended(posexp(slurm, whole, *line))
    assert code == 0, output
    disturbed = posexp(slurm, cut, "hydra/launcher=slurm", *line)

    def number(job):
        wait_for(lambda: "step 60/" in _text(cut / job / "console.log"))
        return json.loads((cut / job / "cluster.json").read_text())["slurm"]

    two = [number(job) for job in ("1", "2")][1]
    # Two ranks: requeued by hand, of which Slurm gives no warning but SIGTERM.
    subprocess.run(["scontrol", "requeue", two], env=slurm, check=True)
    # One: preempted, by a job that wants the whole node.
    urgent = ["sbatch", "--partition=urgent", "--ntasks=4", "--output=/dev/null", "--wrap=sleep 1"]
    subprocess.run(urgent, env=slurm, check=True, capture_output=True)

    code, output = ended(disturbed)
    assert code == 0, output
    for job in ("1", "2"):
        assert status(cut / job) == "completed"
        log = _text(cut / job / "console.log")
        assert "saved at step" in log, log
        assert log.count("precision 32-true on cpu") == int(job) * 2, log
        got, expected = (model_weights(read_checkpoint(d / job)) for d in (cut, whole))
        assert got.keys() == expected.keys()
        for name, weight in expected.items():
            assert torch.equal(got[name], weight), f"{job} device(s): {name} differs"


def test_the_launcher_is_killed_and_the_jobs_go_on(slurm, text, tmp_path):
    line = ["hydra/launcher=slurm", JOBS, f"data.path={text}", "trainer.max_steps=100"]
    first = posexp(slurm, tmp_path / "s", *line)
    wait_for(lambda: (tmp_path / "s" / "2" / "cluster.json").exists())
    first.send_signal(signal.SIGKILL)
    first.communicate()
    wait_for(lambda: all((tmp_path / "s" / job / "result.json").exists() for job in "12"))
    assert {status(tmp_path / "s" / job) for job in "12"} == {"completed"}


def test_what_slurm_ends_is_interrupted(slurm, text, tmp_path):
    line = ["hydra/launcher=slurm", f"data.path={text}", "trainer.max_steps=100000"]
    process = posexp(slurm, tmp_path / "s", *line)
    job = tmp_path / "s" / "1"
    wait_for(lambda: "tokens/s" in _text(job / "console.log"))
    number = json.loads((job / "cluster.json").read_text())["slurm"]
    subprocess.run(["scancel", number], env=slurm, check=True)
    code, output = ended(process)
    assert code == 130, output
    assert status(job) == "interrupted"
    assert "saved at step" in _text(job / "console.log")


def _text(path):
    return path.read_text() if path.exists() else ""
