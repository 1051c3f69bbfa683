"""A sharded checkpoint as an artifact: written by torch, uploaded by W&B's client to a stub."""

import pytest
import torch
import torch.distributed.checkpoint as dcp

from posexp.files import write_json
from posexp.tracking.loggers import finish, log_checkpoint
from posexp.tracking.run import RunLogger, start_run
from posexp.tracking.sync import sync
from posexp.training.checkpoints import LAST, META, read_checkpoint

WEIGHTS = torch.arange(6.0)


@pytest.fixture
def job(tmp_path):
    """A job's directory with a sharded checkpoint, and its bytes by their name beside it."""
    path = tmp_path / "job" / LAST
    state = {"state_dict": {"model.weight": WEIGHTS}, "optimizer_0": {"lr": 0.5}}
    dcp.save(state, checkpoint_id=path, no_dist=True)
    torch.save({"posexp": {}, "global_step": 4}, path / META)
    write_json(tmp_path / "job" / "config.json", {})
    return tmp_path / "job"


@pytest.mark.filterwarnings("ignore")  # torch's of a process group, W&B's of its directory
def test_a_sharded_checkpoint_is_an_artifact_that_opens_elsewhere(
    tracked, job, tmp_path, recorded, server
):
    import wandb

    loggers = [RunLogger(start_run(job, tracked(), "abcd1234", "offline"))]
    log_checkpoint(loggers, {"artifacts": "last"}, job / LAST)
    finish(loggers, 0, "completed")
    wandb.teardown()
    (found,) = recorded(job)
    (model,) = (artifact for artifact in found.of("artifact") if artifact["type"] == "model")
    parts = {str(p.relative_to(job / LAST.parent)): p for p in (job / LAST).iterdir()}
    assert len(parts) == 3  # torch's metadata and one shard, and what is neither
    listed = {file["path"]: file["local_path"] for file in model["manifest"]["contents"]}
    assert listed == {name: str(path) for name, path in parts.items()}

    assert sync(job) == 0
    for name in parts:
        copy = tmp_path / "elsewhere" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(server.files[name])
    checkpoint = read_checkpoint(tmp_path / "elsewhere" / LAST.name)
    assert torch.equal(checkpoint["state_dict"]["model.weight"], WEIGHTS)
    assert (checkpoint["global_step"], checkpoint["optimizer_states"]) == (4, [{"lr": 0.5}])
    sizes = {path.stat().st_size for path in parts.values()}
    for home in ("wandb-data", "wandb-cache"):
        copied = [p for p in (tmp_path / home).rglob("*") if p.is_file()]
        assert not [path for path in copied if path.stat().st_size in sizes]
