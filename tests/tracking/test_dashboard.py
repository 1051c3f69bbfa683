"""The dashboard's definitions, held against what runs really log."""

import json
import re

import pytest

from posexp.tracking import dashboard as module
from posexp.tracking import names
from posexp.tracking.dashboard import TITLE, dashboard, definitions
from posexp.tracking.panels import SECTIONS

NEEDLE = {"name": "needle", "needles": 1, "questions": 1, "windows": 4}


pytestmark = pytest.mark.usefixtures("workspaces")


@pytest.fixture
def made():
    return definitions("a_project", "a_team")


def panels_of(value):
    """Every panel in a definition, at any depth."""
    if isinstance(value, dict):
        if "viewType" in value:
            yield value
        for item in value.values():
            yield from panels_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from panels_of(item)


@pytest.mark.parametrize("kind", ["workspace", "report"])
def test_a_position_study_s_panels_are_there(made, kind):
    panels = list(panels_of(made[kind]))
    assert len(panels) == sum(map(len, SECTIONS.values()))
    config = {panel["config"]["chartTitle"]: panel["config"] for panel in panels}
    loss = config["Loss against length: the same targets, more context"]
    assert loss["metrics"] == ["eval/bits_per_byte"]
    assert loss["xAxis"] == "eval/length"
    assert loss["xLogScale"] is True
    assert loss["groupBy"] == "setting.value"
    assert (loss["groupAgg"], loss["groupArea"]) == ("mean", "stddev")
    assert config["Training loss"]["xAxis"] == "_step"
    assert config["Failed runs"]["groupAgg"] == "sum"
    used = {metric for panel in config.values() for metric in panel["metrics"]}
    assert {
        "eval/bits_per_byte", "curve/bits_per_byte", "eval/gain", "task/accuracy",
        "train/tokens_per_second", "train/peak_memory_gib", "outcome/failed", "outcome/diverged",
    } <= used  # fmt: skip


def test_every_metric_that_is_shown_is_one_that_runs_log(made, tracked, tmp_path, run, recorded):
    run(tmp_path / "job", tracked(task=NEEDLE))
    (found,) = recorded(tmp_path / "job")
    for kind in ("workspace", "report"):
        for panel in panels_of(made[kind]):
            config = panel["config"]
            assert set(config["metrics"]) <= found.metrics
            assert config.get("xAxis", "_step") in found.metrics
            assert config["groupBy"].removesuffix(".value") in found.config
    # And what tables show: of the summary, by name.
    shown = set(re.findall(r"summary:([\w/]+)", json.dumps(made)))
    assert shown == {names.STATUS, names.ERROR}
    assert shown | {names.DIVERGED} <= set(found.summary)
    # A row has its axis in it, which the app looks for.
    for metric, axis in names.AXES.items():
        assert any(metric in row and axis in row for row in found.history), metric


def test_names_of_the_table_and_of_the_loggers_are_the_same_objects():
    logged = {value for key, value in vars(names).items() if key.isupper() and key != "AXES"}
    assert {panel.metric for panels in SECTIONS.values() for panel in panels} <= logged


def test_without_a_login_it_is_a_file_and_none_is_written_over(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    dashboard()
    assert "not online" in capsys.readouterr().out
    text = (tmp_path / "posexp-dashboard.json").read_text()
    assert set(json.loads(text)) == {"workspace", "report"}
    with pytest.raises(FileExistsError, match="--out FILE"):
        dashboard()
    dashboard(out=tmp_path / "other.json", group_by="scheme.theta")
    assert '"scheme.value.theta"' in (tmp_path / "other.json").read_text()
    assert (tmp_path / "posexp-dashboard.json").read_text() == text


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'posexp\[dashboard\]'"):
        dashboard()


def test_on_a_server_it_is_made_once_and_updated_after_that(server, capsys):
    """Against the stub, which keeps views by id and knows nothing else of the app."""
    dashboard("a_project", "stub")
    dashboard("a_project", "stub")
    assert sorted(view["displayName"] for view in server.views.values()) == [TITLE, TITLE]
    assert {view["type"] for view in server.views.values()} == {"project-view", "runs"}
    for view in server.views.values():
        assert len(list(panels_of(json.loads(view["spec"])))) == sum(map(len, SECTIONS.values()))
