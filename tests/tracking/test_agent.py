"""What W&B's agent leaves to the command that it starts; the agent itself needs a server."""

import json
from pathlib import Path
from types import SimpleNamespace

import yaml

from posexp.sweep import single
from posexp.sweep.jobs import Job
from posexp.sweep.process import JobProcess
from posexp.tracking.agent import agent_environment, run_of_agent, sweep_of_agent

README = Path(__file__).parents[2] / "conf" / "tracking" / "README.md"


def test_the_run_is_the_one_that_the_agent_was_given(tracked, tmp_path, run, recorded, monkeypatch):
    monkeypatch.setenv("WANDB_SWEEP_ID", "abc")
    monkeypatch.setenv("WANDB_RUN_ID", "run1234")
    assert run(tmp_path / "job", tracked(tracking={"group": None})) == 0
    (found,) = recorded(tmp_path / "job")
    assert (found.run["run_id"], found.run["run_group"]) == ("run1234", "abc")
    recorded_id = json.loads((tmp_path / "job" / "provenance.json").read_text())["run_id"]
    assert recorded_id == "run1234"
    assert agent_environment() == {"WANDB_SWEEP_ID": "abc", "WANDB_RUN_ID": "run1234"}


def test_a_run_of_several_processes_is_told_as_well(tmp_path, monkeypatch):
    """What starts them drops WANDB_RUN_ID, so that no two jobs of a sweep are one run."""
    seen = []
    runner = SimpleNamespace(run=lambda jobs: seen.extend(jobs))
    monkeypatch.setattr(single, "JobRunner", lambda: runner)
    monkeypatch.setattr(single, "exit_code", lambda jobs: 0)
    job = Job(tmp_path, {"trainer": {"devices": 2}}, environment={"MINE": "1"})
    single._run_here(job)
    monkeypatch.setenv("WANDB_SWEEP_ID", "abc")
    monkeypatch.setenv("WANDB_RUN_ID", "run1234")
    single._run_here(job)
    agent = {"WANDB_SWEEP_ID": "abc", "WANDB_RUN_ID": "run1234"}
    assert [job.environment for job in seen] == [{"MINE": "1"}, agent | {"MINE": "1"}]
    assert agent.items() <= JobProcess(seen[1])._clean_environment().items()


def test_a_run_id_that_lies_around_is_no_agent_s(monkeypatch):
    monkeypatch.setenv("WANDB_RUN_ID", "run1234")
    assert run_of_agent() is sweep_of_agent() is None
    assert agent_environment() == {}


def test_the_command_of_the_readme_gives_overrides():
    """Expanded by W&B's own code, and composed by Hydra's parser."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args

    sweep = yaml.safe_load(README.read_text().split("```yaml")[1].split("```")[0])
    assert sweep["command"] == ["posexp", "train", "${args_no_hyphens}"]
    chosen = {"scheme": "rope", "optimizer.lr": 0.003, "seed": 1}
    assert chosen.keys() == sweep["parameters"].keys()
    given = {"args": {key: {"value": value} for key, value in chosen.items()}}
    overrides = create_sweep_command_args(given)["args_no_hyphens"]
    assert overrides == ["scheme=rope", "optimizer.lr=0.003", "seed=1"]
    parsed = OverridesParser.create().parse_overrides(overrides)
    assert {o.key_or_group: o.value() for o in parsed} == chosen
