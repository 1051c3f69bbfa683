"""The verb with real composition and checks, and a stand-in for what a job does."""

import json
import os
import sys
from pathlib import Path

import pytest

import posexp.report
from posexp.composition import ConfigurationError
from posexp.files import write_json
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.train import resume, train

FAST = ["trainer.context_length=64", "evaluation.targets=16", "tracking=csv", "model.n_layers=4"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def reported(monkeypatch):
    """The directories of which a report was asked for."""
    asked = []
    monkeypatch.setattr(posexp.report, "report", lambda directory, console: asked.append(directory))
    return asked


@pytest.fixture
def behave(monkeypatch):
    """What the jobs of some seeds shall do: put into every config that is claimed."""

    def set_behaviour(**by_seed):
        real = write_json

        def with_behaviour(path, value):
            if path.name == "config.json":
                value = {**value, "stand_in": {k.lstrip("s"): v for k, v in by_seed.items()}}
            real(path, value)

        monkeypatch.setattr("posexp.sweep.directory.write_json", with_behaviour)

    return set_behaviour


def test_every_job_in_its_own_directory_and_process(here, reported):
    code = train(["scheme=rope,alibi,nope", "span=full,sliding", "hydra.sweep.dir=s", *FAST], True)
    assert code == 0
    record = json.loads((here / "s" / "sweep.json").read_text())
    assert record["jobs"] == [
        f"{i}_{scheme}_{span}_seed0"
        for i, (scheme, span) in enumerate(
            (a, b) for a in ("rope", "alibi", "nope") for b in ("full", "sliding")
        )
    ]
    jobs = [here / "s" / name for name in record["jobs"]]
    assert len({json.loads((j / "seen.json").read_text())["pid"] for j in jobs}) == 6
    for job, checked in zip(jobs, record["configs"], strict=True):
        config = json.loads((job / "config.json").read_text())
        assert config == checked
        assert config["trainer"]["precision"] != "auto"
        assert config["trainer"]["threads"] is not None
        assert json.loads((job / "status.json").read_text())["status"] == "completed"
        assert (job / "console.log").read_text() == f"this is {job.name}\n"
    assert reported == [here / "s"]


def test_failures_are_recorded_summarised_and_make_the_exit_code_1(here, reported, behave, capfd):
    """P43 through the whole command."""
    behave(s1="raise", s2="raise")
    assert train(["seed=0,1,2,3", "hydra.sweep.dir=s", *FAST], multirun=True) == 1
    found = [json.loads(p.read_text())["status"] for p in sorted(here.glob("s/*/status.json"))]
    assert found == ["completed", "failed", "failed", "completed"]
    summary = capfd.readouterr().err
    for seed in (1, 2):
        log = (here / "s" / f"{seed}_rope_full_seed{seed}" / "console.log").read_text()
        assert f"KeyError: 'missing in seed {seed}'" in log
        assert f"missing in seed {3 - seed}" not in log
        assert f"KeyError: 'missing in seed {seed}'" in summary
    assert reported == [here / "s"]


def test_resume_runs_what_has_not_ended(here, reported, behave):
    behave(s1="raise")
    assert train(["seed=0,1", "hydra.sweep.dir=s", *FAST], multirun=True) == 1
    done = here / "s" / "0_rope_full_seed0" / "seen.json"
    first = done.read_text()
    config = here / "s" / "1_rope_full_seed1" / "config.json"
    write_json(config, {**json.loads(config.read_text()), "stand_in": {}})
    assert resume(Path("s")) == 0
    assert done.read_text() == first
    assert reported == [here / "s"] * 2
    assert resume(Path("s")) == 0


def test_a_sweep_where_one_job_is_illegal_runs_and_writes_nothing(here, reported):
    lines = ["trainer.context_length=64,0", "evaluation.targets=16", "tracking=csv"]
    with pytest.raises(ConfigurationError, match=r"job 1 .*context_length"):
        train([*lines, "hydra.sweep.dir=s"], multirun=True)
    with pytest.raises(ConfigurationError, match="job 1"):
        train(["scheme=rope,alibi", "scheme.theta=5", "hydra.sweep.dir=s"], multirun=True)
    assert os.listdir(here) == []
    assert reported == []


@pytest.mark.parametrize("multirun", [True, False])
def test_a_directory_with_results_is_refused(here, multirun):
    (here / "old").mkdir()
    (here / "old" / "notes.txt").write_text("precious")
    key = "hydra.sweep.dir" if multirun else "hydra.run.dir"
    with pytest.raises(DirectoryInUseError, match=r"old already holds notes\.txt"):
        train([f"{key}=old", *FAST], multirun)
    assert os.listdir(here / "old") == ["notes.txt"]


def test_a_directory_name_with_special_characters_stays_whole(here, reported):
    name = "it's {a} (test), 100% $x = y"
    quoted = name.replace("'", "\\'")
    assert train([f"hydra.sweep.dir='{quoted}'", *FAST], multirun=True) == 0
    assert (here / name / "sweep.json").is_file()


def test_the_plan_runs_and_writes_nothing(here, reported, capsys):
    assert train(["scheme=rope,alibi", *FAST], multirun=True, plan=True) == 0
    shown = capsys.readouterr().out
    for part in ("0_rope_full_seed0", "1_alibi_full_seed0", "key_side", "not run"):
        assert part in shown
    assert os.listdir(here) == []


def test_the_sweep_is_the_tracking_group_of_its_jobs(here, reported):
    lines = [line for line in FAST if line != "tracking=csv"]
    train(["hydra.sweep.dir=my_sweep", "tracking.mode=disabled", *lines], multirun=True)
    config = json.loads((here / "my_sweep" / "0_rope_full_seed0" / "config.json").read_text())
    assert config["tracking"]["group"] == "my_sweep"


def test_the_resolver_works_under_every_launcher(here, reported):
    """P42"""
    for launcher in ("posexp", "basic"):
        lines = ["seed=${mul:2,3}", f"hydra/launcher={launcher}", f"hydra.sweep.dir={launcher}"]
        assert train([*lines, *FAST], multirun=True) == 0
        config = json.loads((here / launcher / "0_rope_full_seed6" / "config.json").read_text())
        assert config["seed"] == 6


def test_a_config_may_ask_for_the_sweep_itself(here, reported):
    assert train(["seed=0,1", "hydra.mode=MULTIRUN", "hydra.sweep.dir=s", *FAST]) == 0
    assert len(list(here.glob("s/*/config.json"))) == 2


def test_a_single_run_is_one_job_in_this_process(here, reported, monkeypatch, capsys):
    def job(arguments):
        directory = Path(arguments[0])
        print("pid", os.getpid())
        write_json(directory / "status.json", {"status": "completed"})
        return 0

    monkeypatch.setattr("posexp.job.main", job)
    assert train(["hydra.run.dir=r", *FAST]) == 0
    assert f"pid {os.getpid()}" in capsys.readouterr().out
    assert reported == [here / "r"]
    assert (here / "r" / "console.log").read_text() == f"pid {os.getpid()}\n"
    assert json.loads((here / "r" / "config.json").read_text())["scheme"]["name"] == "rope"
    with pytest.raises(DirectoryInUseError, match="a job"):
        train(["hydra.run.dir=r", *FAST])
    assert resume(Path("r")) == 0


def test_a_single_run_on_several_devices_goes_through_torchrun(here, monkeypatch):
    from posexp.sweep import process

    monkeypatch.setattr(
        process, "_command", lambda job: [sys.executable, "-c", "print('torchrun')"]
    )
    assert train(["hydra.run.dir=r", "trainer.devices=2", *FAST]) == 1
    assert "torchrun" in (here / "r" / "console.log").read_text()


def test_a_single_run_that_fails_says_where_its_log_is(here, reported, monkeypatch, capsys):
    monkeypatch.setattr("posexp.job.main", lambda arguments: 1)
    assert train(["hydra.run.dir=r", *FAST]) == 1
    assert str(here / "r" / "console.log") in capsys.readouterr().err
    assert reported == []


def test_a_fault_in_a_single_run_comes_through_without_words_of_hydras(here, monkeypatch, capsys):
    def job(arguments):
        raise RuntimeError("boom")

    monkeypatch.setattr("posexp.job.main", job)
    with pytest.raises(RuntimeError, match="boom"):
        train(["hydra.run.dir=r", *FAST])
    assert "Error executing job" not in capsys.readouterr().err
