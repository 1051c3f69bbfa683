"""The same command again, and a resume, with real composition and a stand-in for the jobs."""

import json
import os
import subprocess
import sys

import pytest

import posexp.report
from posexp.composition import ConfigurationError
from posexp.files import write_json
from posexp.sweep.disk import DiskSpaceError
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.jobs import read_status
from posexp.sweep.locks import sweep_lock
from posexp.sweep.train import resume, train

FAST = ["trainer.context_length=64", "evaluation.targets=16", "tracking=csv", "scheme=nope"]


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Give `posexp train -m`, with `s` as its directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(posexp.report, "report", lambda directory, console: None)

    def give(*overrides, where="s", **options):
        place = [f"hydra.sweep.dir={where}"] if where else []
        return train([*overrides, *place, *FAST], multirun=True, **options)

    return give


def jobs(directory):
    return {p.parent.name: read_status(p.parent) for p in sorted(directory.glob("*/status.json"))}


def test_the_same_command_does_what_is_left_and_adds_what_is_new(sweep, tmp_path, capsys):
    assert sweep("seed=0,1") == 0
    failed = tmp_path / "s" / "1_nope_full_seed1"
    write_json(failed / "status.json", read_status(failed) | {"status": "failed"})
    before = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert sweep("seed=0,1,2", "hydra.launcher.n_jobs=2") == 0
    assert "1 of 3 jobs have ended; 2 to go on, 1 of them new" in capsys.readouterr().out
    attempts = {name: status["attempts"] for name, status in jobs(tmp_path / "s").items()}
    assert attempts == {
        "0_nope_full_seed0": 1,
        "1_nope_full_seed1": 2,
        "2_nope_full_seed2": 1,
    }
    log = (failed / "console.log").read_text()
    assert log.startswith("this is 1_nope_full_seed1\n\n==== attempt 2, ")
    assert log.endswith("====\nthis is 1_nope_full_seed1\n")
    record = json.loads((tmp_path / "s" / "sweep.json").read_text())
    assert record["configs"][:2] == before["configs"]
    # The share of the cores is the sweep's, whatever runs at once now.
    assert record["configs"][2]["trainer"]["threads"] == before["configs"][0]["trainer"]["threads"]
    assert record["continued"][0]["added"] == ["2_nope_full_seed2"]
    hashes = [identity["config_hash"] for identity in record["identities"]]
    assert len(set(hashes)) == 3
    assert [s["config_hash"] for s in jobs(tmp_path / "s").values()] == hashes
    assert (tmp_path / "s" / "environment_2.json").is_file()


class Killed(BaseException):
    """What no handler of the code under test may catch."""


BEGINNING = [
    "multirun.write_record",
    "multirun.save_environment",
    "multirun.copy_plugins",
    "multirun.launch",
    "directory.write_json",
    "directory.copy_plugins",
    "process.begin",
    "process.JobProcess._settle",
]
ADDING = ["going_on.write_record", "going_on.copy_plugins", "going_on.launch"]


@pytest.mark.parametrize("point", BEGINNING + ADDING)
def test_killed_at_any_step_the_same_command_makes_up_for_it(sweep, tmp_path, monkeypatch, point):
    def die(*_, **__):
        raise Killed

    command = ["seed=0"]
    if point in ADDING:
        assert sweep(*command) == 0
        command = ["seed=0,1"]
    with monkeypatch.context() as patch:
        patch.setattr(f"posexp.sweep.{point}", die)
        with pytest.raises(Killed):
            sweep(*command)
    assert sweep(*command) == 0
    ended = {name: status["status"] for name, status in jobs(tmp_path / "s").items()}
    numbers = range(2 if point in ADDING else 1)
    assert ended == {f"{i}_nope_full_seed{i}": "completed" for i in numbers}
    assert (tmp_path / "s" / "environment.json").is_file()


def test_new_jobs_whose_names_differ_by_their_number_alone(sweep, tmp_path, capsys):
    assert sweep("optimizer.lr=0.1,0.2") == 0
    assert sweep("optimizer.lr=0.1,0.3,0.2,0.4", plan=True) == 0
    shown = capsys.readouterr().out
    assert "2 jobs, not run" in shown
    assert sweep("optimizer.lr=0.1,0.3,0.2,0.4") == 0
    rates = {
        name: json.loads((tmp_path / "s" / name / "config.json").read_text())["optimizer"]["lr"]
        for name in jobs(tmp_path / "s")
    }
    assert rates == {f"{i}_nope_full_seed0": (i + 1) / 10 for i in range(4)}


def test_a_job_that_is_not_what_it_was_stops_all_before_anything_runs(sweep, tmp_path):
    assert sweep("seed=0") == 0
    path = tmp_path / "s" / "sweep.json"
    record = json.loads(path.read_text())
    record["configs"][0]["optimizer"]["lr"] = 5.0
    path.write_text(json.dumps(record))
    with pytest.raises(ConfigurationError, match=r"optimizer\.lr was 5\.0"):
        sweep("seed=0,1")
    assert list(jobs(tmp_path / "s")) == ["0_nope_full_seed0"]
    record["configs"][0]["optimizer"]["lr"] = 1.0
    assert json.loads(path.read_text())["configs"][0]["optimizer"]["lr"] == 5.0


def test_jobs_of_other_commands_are_left_alone(sweep, tmp_path, capsys):
    assert sweep("seed=0") == 0
    assert sweep("seed=7") == 0
    assert "1 other jobs" in capsys.readouterr().out
    assert list(jobs(tmp_path / "s")) == ["0_nope_full_seed0", "1_nope_full_seed7"]


def test_a_directory_at_work_is_refused_in_every_way(sweep, tmp_path):
    assert sweep("seed=0") == 0
    with sweep_lock(tmp_path / "s"):
        for attempt in (lambda: sweep("seed=0"), lambda: resume(tmp_path / "s")):
            with pytest.raises(DirectoryInUseError, match="another posexp is running this sweep"):
                attempt()


def test_an_unfinished_sweep_of_the_same_command_is_named(sweep, tmp_path, capsys):
    dated = {"where": None}
    assert sweep("seed=0", **dated) == 0
    first = next(tmp_path.glob("runs/*"))
    assert sweep("seed=0", **dated) == 0
    assert "note:" not in capsys.readouterr().out
    job = first / "0_nope_full_seed0"
    write_json(job / "status.json", read_status(job) | {"status": "interrupted"})
    assert sweep("seed=0", **dated) == 0
    assert f"posexp sweep resume {first}" in capsys.readouterr().out
    assert len(list(tmp_path.glob("runs/*"))) == 3


def test_a_killed_launcher_leaves_jobs_that_are_known_to_be_interrupted(sweep, tmp_path):
    """The job says that it runs; its lock says that nobody does."""
    assert sweep("seed=0") == 0
    job = tmp_path / "s" / "0_nope_full_seed0"
    write_json(job / "status.json", read_status(job) | {"status": "running"})
    assert resume(tmp_path / "s") == 0
    assert read_status(job)["attempts"] == 2


def test_a_job_that_outlived_its_launcher_is_waited_for(sweep, tmp_path, capsys):
    assert sweep("seed=0") == 0
    job = tmp_path / "s" / "0_nope_full_seed0"
    write_json(job / "status.json", read_status(job) | {"status": "running"})
    code = "import fcntl, sys, time; fcntl.flock(sys.stdout, fcntl.LOCK_EX); time.sleep(4)"
    with (job / "console.log").open("ab") as log:
        orphan = subprocess.Popen([sys.executable, "-c", code], stdout=log)
    try:
        while orphan.poll() is None and "interrupted" in _state(job):
            pass
        assert resume(tmp_path / "s") == 0
        assert "waiting for it" in capsys.readouterr().out
        assert orphan.poll() == 0
    finally:
        orphan.kill()
        orphan.wait()


def _state(directory):
    from posexp.sweep.jobs import job_state

    return job_state(directory)["status"]


def test_too_little_room_is_said_before_anything_is_written(sweep, tmp_path, monkeypatch):
    class Full:
        free = 1000

    monkeypatch.setattr("shutil.disk_usage", lambda path: Full)
    with pytest.raises(DiskSpaceError, match="--ignore-disk"):
        sweep("seed=0")
    assert os.listdir(tmp_path) == []
    assert sweep("seed=0", ignore_disk=True) == 0


def test_another_machine_is_warned_of(sweep, tmp_path, capsys):
    assert sweep("seed=0") == 0
    path = tmp_path / "s" / "sweep.json"
    record = json.loads(path.read_text())
    record["machine"]["cpu"] = "an abacus"
    path.write_text(json.dumps(record))
    assert resume(tmp_path / "s") == 0
    assert "abacus" not in capsys.readouterr().err  # nothing runs
    assert sweep("seed=0,1") == 0
    assert "warning: cpu was an abacus" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["hydra.launcher.n_jobs=0", "hydra.sweeper.max_batch_size=2"])
def test_numbers_of_jobs_that_cannot_be(sweep, tmp_path, wrong):
    with pytest.raises(ValueError, match=r"n_jobs"):
        sweep("seed=0", wrong)
    assert os.listdir(tmp_path) == []
