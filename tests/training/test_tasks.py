"""A job with a task: what is refused before it, what it leaves, and what stays as it was."""

import json

import numpy as np
import pytest
import torch

from posexp import PluginError, Task
from posexp.data.load import load_corpus
from posexp.job import COMPLETED, FAILED, resume_job, run_job
from posexp.training import tasks
from posexp.training.build import check_job
from posexp.training.checkpoints import model_weights, read_checkpoint
from posexp.training.data import WindowsDataModule
from posexp.training.module import LanguageModule
from posexp.training.tasks import check_task, make_task

NEEDLE = {"name": "needle", "needles": 1, "questions": 1, "share": 0.5, "windows": 8}


def result(directory):
    return json.loads((directory / "result.json").read_text())


class Given(Task):
    """A task of this file, put in the place of the one that the config names."""

    share = 0.5

    def training_window(self, tokens, random):
        return tokens, np.arange(len(tokens)) > 0

    def distances(self, length):
        return [1]

    def test_window(self, tokens, distance, random):
        return tokens, np.arange(len(tokens)) > 0


@pytest.fixture
def given(monkeypatch):
    """Let `make_task` give a `Given` with these attributes."""

    def use(**attributes):
        task = type("Other", (Given,), attributes)()
        monkeypatch.setattr(tasks, "build_task", lambda config, context_length: task)

    return use


def fails(*_):
    raise KeyError("boom")


def unscored(self, tokens, *_):
    return tokens, np.zeros(len(tokens), bool)


def test_no_task_is_none(make_config):
    assert make_task(make_config()) is None


@pytest.mark.parametrize(
    ("attributes", "error", "words"),
    [
        ({"share": 1.0}, ValueError, r"mine: share must be in \[0, 1\)"),
        ({"windows": 0}, ValueError, "mine: windows must be at least 1"),
        ({"training_window": fails}, PluginError, "the task 'mine' raised KeyError: 'boom'"),
        ({"distances": fails}, PluginError, "the task 'mine' raised KeyError: 'boom'"),
        ({"test_window": fails}, PluginError, "the task 'mine' raised KeyError: 'boom'"),
        ({"test_window": unscored}, ValueError, "nothing is scored at length 8 and distance 1"),
        ({"distances": lambda self, n: []}, ValueError, "tests none of evaluation.lengths"),
        ({"training_window": lambda self, t, r: (t[1:], t > 0)}, ValueError, "of shape"),
    ],
)
def test_a_task_is_tried_before_anything_is_trained(make_config, given, attributes, error, words):
    given(**attributes)
    with pytest.raises(error, match=words) as caught:
        check_job(make_config(task={"name": "mine"}))
    assert "\n" not in str(caught.value)


def test_a_sound_task_passes(make_config, given):
    given()
    config = make_config(task={"name": "mine"})
    check_task(config, load_corpus(config["data"]))


def test_documents_too_short_to_plant_in(make_config, tmp_path):
    path = tmp_path / "short.jsonl"
    lines = [{"text": "x" * 10, "split": "train"}, {"text": "y" * 300, "split": "test"}]
    path.write_text("\n".join(map(json.dumps, lines)))
    config = make_config(task=NEEDLE, trainer={"val_every": None})
    config["data"]["path"] = str(path)
    config["evaluation"]["foreign_split"] = None
    with pytest.raises(ValueError, match="nearest valid context_length: 10, or set task.share=0"):
        check_task(config, load_corpus(config["data"]))
    config["task"] = NEEDLE | {"share": 0.0}
    check_task(config, load_corpus(config["data"]))


def test_a_job_with_a_needle_says_how_much_it_recalls_and_keeps_the_loss_on_text(
    make_config, tmp_path
):
    config = make_config(scheme={"name": "learned", "max_length": 64}, task=NEEDLE)
    assert run_job(tmp_path / "job", config) == COMPLETED
    evaluation = result(tmp_path / "job")["evaluation"]
    task = evaluation["task"]
    assert (task["name"], task["windows"], task["chance"]) == ("needle", 8, 1 / 26)
    assert [row["status"] for row in task["lengths"]] == ["ok", "ok", "ok", "undefined"]
    assert [row["length"] for row in task["rows"]] == [n for n in (16, 32, 64, 128) for _ in "1248"]
    metrics = (tmp_path / "job" / "metrics.csv").read_text().splitlines()[0]
    assert "task/needle/accuracy_64" in metrics and "accuracy_128" not in metrics
    assert result(tmp_path / "job")["facts"]["task.share"] == 0.5


def test_with_nothing_planted_the_weights_and_losses_are_those_without_a_task(
    make_config, tmp_path
):
    """The task is beside the job: a share of 0 changes no bit of it."""
    run_job(tmp_path / "without", make_config())
    run_job(tmp_path / "with", make_config(task=NEEDLE | {"share": 0.0}))
    run_job(tmp_path / "planted", make_config(task=NEEDLE))
    weights = [model_weights(read_checkpoint(tmp_path / n)) for n in ("without", "with", "planted")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not all(torch.equal(weights[0][name], weights[2][name]) for name in weights[0])
    one, two = (result(tmp_path / name)["evaluation"] for name in ("without", "with"))
    assert "task" not in one
    assert one == {key: value for key, value in two.items() if key != "task"}
    assert not any("task" in fact for fact in result(tmp_path / "without")["facts"])


def test_a_resumed_run_with_a_task_equals_an_uninterrupted_one(make_config, tmp_path, monkeypatch):
    """P37."""
    config = make_config(task=NEEDLE, trainer={"accumulate": 2, "workers": 1})
    run_job(tmp_path / "whole", config)
    original, calls = LanguageModule.training_step, iter(range(10**9))

    def step(self, batch, batch_idx):
        if next(calls) == 7:  # between the checkpoints of steps 2 and 4
            raise RuntimeError("the lights went out")
        return original(self, batch, batch_idx)

    monkeypatch.setattr(LanguageModule, "training_step", step)
    assert run_job(tmp_path / "broken", config) == FAILED
    assert resume_job(tmp_path / "broken") == COMPLETED
    whole, broken = (model_weights(read_checkpoint(tmp_path / n)) for n in ("whole", "broken"))
    assert all(torch.equal(whole[name], broken[name]) for name in whole)
    assert result(tmp_path / "whole")["evaluation"] == result(tmp_path / "broken")["evaluation"]


def test_the_val_split_stays_plain(make_config):
    config = make_config(task=NEEDLE | {"share": 0.9})
    corpus = load_corpus(config["data"])
    for item in WindowsDataModule(corpus, config).val_dataloader().dataset:
        assert (item["targets"] >= 0).all() and item["targets"].max() < 128
