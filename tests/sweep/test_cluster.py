"""hydra/launcher=submitit_local, the launcher of hydra/launcher=slurm without Slurm."""

import json
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

import posexp.report
from posexp.composition import ConfigurationError
from posexp.files import write_json
from posexp.sweep import cluster, cluster_watch
from posexp.sweep.cluster import resources
from posexp.sweep.cluster_job import ClusterJob
from posexp.sweep.jobs import Job, read_status
from posexp.sweep.train import train

ON_A_NODE = ["trainer.accelerator=cpu", "trainer.threads=1", "trainer.precision=32-true"]
FAST = ["trainer.context_length=64", "evaluation.targets=16", "tracking=csv", "model.n_layers=4"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster_watch, "EVERY", 0.05)
    monkeypatch.setattr(posexp.report, "report", lambda directory, console: None)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    from stand_in_cluster_job import StandInClusterJob

    monkeypatch.setattr(cluster, "ClusterJob", StandInClusterJob)
    return tmp_path


@pytest.fixture
def behave(monkeypatch):
    """What the jobs of some seeds shall do: put into every config that is claimed."""

    def set_behaviour(**by_seed):
        def with_behaviour(path, value):
            if path.name == "config.json":
                value = {**value, "stand_in": {k.lstrip("s"): v for k, v in by_seed.items()}}
            write_json(path, value)

        monkeypatch.setattr("posexp.sweep.directory.write_json", with_behaviour)

    return set_behaviour


def sweep(*overrides):
    line = ["hydra/launcher=submitit_local", "hydra.sweep.dir=s", *overrides, *FAST]
    return train(line, multirun=True)


def wait_for(path, seconds=30):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.02)


def test_a_sweep_of_which_one_job_raises_and_one_is_killed(here, behave, capfd):
    behave(s1="raise", s2="kill")
    assert sweep("seed=0,1,2,3") == 1
    jobs = [here / "s" / f"{i}_rope_full_seed{i}" for i in range(4)]
    found = [read_status(job)["status"] for job in jobs]
    assert found == ["completed", "failed", "failed", "completed"]
    shown = capfd.readouterr()
    for job, status in zip(jobs, found, strict=True):
        assert f"{job.name} {status}" in shown.out
        seen = json.loads((job / "seen.json").read_text())
        # Lightning would believe that Slurm had started its ranks, and submitit is not the job's.
        assert not [key for key in seen["env"] if key.startswith(("SLURM_", "SUBMITIT_"))]
    assert "KeyError: 'missing in seed 1'" in shown.err
    assert "SIGKILL" in shown.err


def test_a_preempted_job_saves_and_its_turn_comes_again(here, behave):
    behave(s0="wait once")
    job = here / "s" / "0_rope_full_seed0"

    def preempt():
        wait_for(job / "waiting")
        number = json.loads((job / "cluster.json").read_text())["local"]
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGUSR2)

    thread = threading.Thread(target=preempt)
    thread.start()
    code = sweep()
    thread.join()
    assert code == 0
    lines = (job / "console.log").read_text().splitlines()
    said = [line for line in lines if line and not line.startswith("====")]
    assert said == [f"this is {job.name}", "saved", f"this is {job.name}"]
    assert read_status(job)["status"] == "completed"


def test_the_signal_ends_a_job_only_through_its_checkpoint(job, tmp_path):
    """The process of the job inherits that the signal is blocked: Slurm sends it to every one."""
    one = job("wait")
    one.directory.mkdir()
    write_json(one.directory / "config.json", one.config)
    running, resumed = ClusterJob(one), []
    before = signal.signal(signal.SIGUSR2, lambda *_: resumed.append(running.checkpoint()))

    def interrupt():
        wait_for(one.directory / "waiting")
        os.kill(json.loads((one.directory / "seen.json").read_text())["pid"], signal.SIGUSR2)
        time.sleep(0.1)
        assert read_status(one.directory)["status"] == "running"
        os.kill(os.getpid(), signal.SIGUSR2)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        assert running() == "interrupted"
    finally:
        thread.join()
        signal.signal(signal.SIGUSR2, before)
    assert resumed[0].function.job == one
    assert read_status(one.directory)["status"] == "interrupted"


@pytest.mark.parametrize(
    ("trainer", "asked"),
    [
        ({"accelerator": "cpu", "devices": 2, "threads": 3, "workers": 1}, {"cpus_per_task": 8}),
        (
            {"accelerator": "gpu", "devices": 2, "threads": 4, "workers": 0},
            {"cpus_per_task": 8, "gpus_per_node": 2},
        ),
    ],
)
def test_what_a_job_asks_of_its_node(trainer, asked):
    assert resources(Job(Path("x"), {"trainer": trainer})) == asked


def test_a_launcher_that_cannot_start_a_job_is_refused_before_anything_is_written(
    here, monkeypatch
):
    find = "posexp.composition.launchers.find_spec"
    with monkeypatch.context() as patch:
        patch.setattr(find, lambda name: None)
        with pytest.raises(ConfigurationError, match=r"submitit_local needs.*posexp\[slurm\]"):
            sweep()
        with pytest.raises(ConfigurationError, match=r"ray needs: pip install 'posexp\[ray\]'"):
            train(["hydra/launcher=ray", *FAST], multirun=True)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ConfigurationError, match="no sbatch on this machine"):
        train(["hydra/launcher=slurm", *FAST], multirun=True)
    assert os.listdir(here) == []


def test_what_slurm_refuses_is_said_in_one_line(here, commands):
    refuse = "echo sbatch: error: invalid partition: big >&2; exit 1"
    commands(srun=refuse, squeue=refuse, sbatch=refuse)
    line = [*ON_A_NODE, *FAST]
    with pytest.raises(ValueError, match="the cluster refused the jobs: sbatch: error: invalid"):
        train(["hydra/launcher=slurm", "hydra.launcher.partition=big", *line], multirun=True)
    batch = next(here.glob("runs/*/.submitit/*.sh")).read_text()
    for option in ("partition=big", "cpus-per-task=1", "signal=USR2@120", "requeue", "time=1440"):
        assert f"#SBATCH --{option}\n" in batch


def test_what_the_nodes_have_must_be_said(here, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: name)
    open_ones = "trainer.accelerator, trainer.threads, trainer.precision"
    with pytest.raises(ValueError, match=f"another machine.*{open_ones}"):
        train(["hydra/launcher=slurm", *FAST], multirun=True)
    assert os.listdir(here) == []
