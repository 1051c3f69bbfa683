"""Uploads by W&B's own client, to a stub of its server (`stub_server.py` says what it is not)."""

import fcntl
import json

import pytest

from posexp.tracking.run import RunLogger
from posexp.tracking.sync import sync


@pytest.fixture
def offline_sweep(tracked, tmp_path, run, die_at):
    """A sweep of two: one that died and was resumed, one that failed."""
    sweep = tmp_path / "sweep"
    config = tracked(trainer={"log_every": 1}, tracking={"mode": "offline", "artifacts": "last"})
    die_at(3)
    run(sweep / "0_nope", config)
    die_at(3)
    run(sweep / "1_nope", config)
    run(sweep / "0_nope")
    names = ["0_nope", "1_nope"]
    empty = {"overrides": [[], []], "environments": [{}, {}]}
    record = {"jobs": names, "configs": [config, config], **empty}
    (sweep / "sweep.json").write_text(json.dumps(record))
    return sweep


def run_id(job):
    return json.loads((job / "provenance.json").read_text())["run_id"]


def test_a_sweep_is_uploaded_one_run_a_job_however_often_it_was_resumed(
    offline_sweep, server, capfd, recorded
):
    assert sync(offline_sweep) == 0
    done, failed = (run_id(offline_sweep / name) for name in ("0_nope", "1_nope"))
    assert set(server.runs) == {done, failed}
    steps = [row["_step"] for row in server.history(done)]
    assert steps == sorted(set(steps))
    losses = {r["_step"]: r["train/loss"] for r in server.history(done) if "train/loss" in r}
    assert list(losses) == [0, 1, 2, 3, 4, 5]
    for part in recorded(offline_sweep / "0_nope"):
        for row in part.history:
            if "train/loss" in row:
                assert losses[row["_step"]] == row["train/loss"]
    uploaded = server.runs[done]
    assert uploaded["exitcode"] == 0
    assert (uploaded["groupName"], uploaded["displayName"]) == ("some_sweep", "nope-seed0")
    assert uploaded["config"]["scheme"]["value"] == {"name": "nope"}
    collections = [artifact["artifactCollectionName"] for artifact in uploaded["artifacts"]]
    assert f"checkpoint-{done}" in collections
    assert server.runs[failed]["exitcode"] == 1

    server.operations.clear()
    assert sync(offline_sweep) == 0
    assert "nothing left to upload" in capfd.readouterr().out
    assert server.operations == []


def test_what_was_resumed_after_an_upload_is_added_to_it(tracked, tmp_path, run, die_at, server):
    job = tmp_path / "job"
    die_at(3)
    run(job, tracked(trainer={"log_every": 1}, tracking={"mode": "offline"}))
    assert sync(job) == 0
    assert server.runs[run_id(job)]["exitcode"] == 1
    run(job)
    assert sync(job) == 0
    assert server.runs[run_id(job)]["exitcode"] == 0
    steps = [row["_step"] for row in server.history(run_id(job))]
    assert steps == sorted(set(steps))
    assert steps[:7] == [0, 1, 2, 3, 4, 5, 6]


def test_a_running_job_is_left_out(tracked, tmp_path, run, server, capfd):
    run(tmp_path / "job", tracked(tracking={"mode": "offline"}))
    with (tmp_path / "job" / "console.log").open("w") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        assert sync(tmp_path / "job") == 0
    assert "job is running: left out" in capfd.readouterr().out
    assert server.runs == {}


def test_what_cannot_be_uploaded_is_said_and_tried_again(tracked, tmp_path, run, server, capfd):
    run(tmp_path / "job", tracked(tracking={"mode": "offline"}))
    server.refused.add("UpsertBucket")
    assert sync(tmp_path / "job") == 1
    assert "job was not uploaded" in capfd.readouterr().err
    server.refused.clear()
    assert sync(tmp_path / "job") == 0
    assert list(server.runs) == [run_id(tmp_path / "job")]


def test_mistakes_are_said_before_anything_is_sent(tracked, tmp_path, run):
    with pytest.raises(ValueError, match="not the directory of a sweep or a job"):
        sync(tmp_path)
    run(tmp_path / "job", tracked())
    with pytest.raises(ValueError, match="nobody is logged in to W&B: wandb login"):
        sync(tmp_path / "job")


def test_a_job_that_is_resumed_online_goes_on_in_its_run(tracked, tmp_path, run, die_at, server):
    """P35, P36: the server has the steps since the checkpoint; they are not sent again."""
    job = tmp_path / "job"
    die_at(3)
    assert run(job, tracked(trainer={"log_every": 1})) == 1
    assert server.runs[run_id(job)]["exitcode"] == 1
    assert run(job) == 0
    (uploaded,) = server.runs.values()
    assert uploaded["exitcode"] == 0
    steps = [row["_step"] for row in server.history(run_id(job))]
    assert steps == sorted(set(steps))
    assert {0, 1, 2, 3, 4, 5, 6} <= set(steps)
    assert sync(job) == 0  # and nothing of it waits to be uploaded
    assert len(list(job.glob("wandb/run-*"))) == 2


def test_where_w_and_b_refuses_it_is_offline_and_says_so(
    tracked, tmp_path, run, server, recorded, recwarn
):
    server.refused.add("UpsertBucket")
    config = tracked()
    from posexp.tracking.run import start_run

    with pytest.warns(UserWarning, match="recording offline instead"):
        logger = RunLogger(start_run(tmp_path, config, "abcd1234", "online"))
    logger.log_metrics({"train/loss": 1.0}, 5)
    logger.log_metrics({"train/loss": 2.0}, 4)
    logger.experiment.finish()
    import wandb

    wandb.teardown()
    found = recorded(tmp_path)[-1]
    assert [row["train/loss"] for row in found.history] == [1.0]
