"""DDP and FSDP2 on two processes with gloo, all in one launch, against one process here."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from posexp.evaluation.checkpoint import evaluate_checkpoint
from posexp.training.build import make_model
from posexp.training.checkpoints import (
    consolidate,
    is_sharded,
    model_weights,
    newest_checkpoint,
    read_checkpoint,
)

CONFIG = runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))["CONFIG"]
SCRIPT = Path(__file__).with_name("two_ranks.py")
#: Micro-batch 5 of 8 is within step 2, the third; the checkpoint is of two steps.
DIE_AT = 5
ROUGH = {"precision": "bf16-mixed", "val_every": None}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Training documents of 1 to 15 letters: packs of 16 places, most with an unscored tail."""
    random = np.random.default_rng(1)
    sizes = [("train", n) for n in random.integers(1, 16, 60)] + [("val", 300), ("test", 600)]
    lines = [
        {"id": str(i), "split": split, "text": "".join(random.choice(list("abcdefgh "), n))}
        for i, (split, n) in enumerate(sizes)
    ]
    path = tmp_path_factory.mktemp("corpus") / "short.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture(scope="module")
def ran(corpus, tmp_path_factory):
    """The directory of all jobs: "one" ran in this process, the others on two ranks."""
    root = tmp_path_factory.mktemp("ranks")

    def job(name, dropout=0.0, **trainer):
        config = json.loads(json.dumps(CONFIG))
        config["data"]["path"] = str(corpus)
        config["scheme"] = {"name": "t5"}
        # A large eps: else Adam's first steps divide rounding errors by themselves.
        config["optimizer"] |= {"eps": 1e-3, "gradient_clip": 0.05}
        config["model"]["dropout"] = dropout
        same = {"batch_size": 8, "accumulate": 2, "max_steps": 4, "val_every": 2, "val_windows": 5}
        config["trainer"] |= {**same, **trainer}
        (root / name).mkdir(parents=True)
        (root / name / "config.json").write_text(json.dumps(config))

    job("here/one")
    (root / "here" / "plan.json").write_text('{"one": null}')
    runpy.run_path(str(SCRIPT))["run"](root / "here")

    two = {"devices": 2, "strategy": "fsdp2"}
    job("ddp", devices=2, keep_checkpoints=2)
    job("ddp_resumed", devices=2)
    job("fsdp2", **two)
    job("fsdp2_resumed", **two)
    job("sharded_resumed", sharded_checkpoints=True, keep_checkpoints=3, **two)
    job("rough", dropout=0.5, **two, **ROUGH)
    job("rough_resumed", dropout=0.5, **two, **ROUGH)
    names = [path.name for path in root.iterdir() if path.name != "here"]
    plan = {name: DIE_AT if name.endswith("resumed") else None for name in names}
    (root / "plan.json").write_text(json.dumps(plan))
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [sys.executable, *torchrun, str(SCRIPT), str(root)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return root


@pytest.fixture(scope="module")
def seen(ran):
    """`seen(name)`: what the ranks of a job saw, a list."""

    def load(name):
        paths = sorted((ran / name).glob("seen_*.pt"))
        return [torch.load(path, weights_only=True) for path in paths]

    return load


def assert_equal(a, b, **tolerance):
    assert a.keys() == b.keys()
    for name in a:
        torch.testing.assert_close(a[name], b[name], **{"atol": 0, "rtol": 0, **tolerance})


def weights(path):
    return model_weights(read_checkpoint(path))


def test_the_ranks_share_the_tokens_unequally(seen):
    """P30: what makes a mean of the ranks' means wrong."""
    (one,) = seen("here/one")
    for name in ("ddp", "fsdp2"):
        first, second = (rank["tokens"] for rank in seen(name))
        assert any(a != b for a, b in zip(first, second, strict=True))
        assert [a + b for a, b in zip(first, second, strict=True)] == one["tokens"]


@pytest.mark.parametrize("name", ["ddp", "fsdp2"])
def test_two_processes_equal_one_on_the_joined_batch(seen, ran, name):
    """Contract 8: gradients, losses, the norm over shards that clips, validation, weights."""
    (one,), ranks = seen("here/one"), seen(name)
    assert len(ranks) == 2
    for rank in ranks:
        assert_equal(rank["gradients"], one["gradients"], atol=1e-7, rtol=1e-4)
        for metric, values in one["logged"].items():
            assert values
            assert rank["logged"][metric] == pytest.approx(values, rel=1e-5), metric
        assert_equal(rank["weights"], one["weights"], atol=1e-6, rtol=1e-4)
    assert min(one["logged"]["train/gradient_norm"]) > 0.05  # so every step is clipped
    results = [json.loads((ran / n / "result.json").read_text()) for n in ("here/one", name)]
    for a, b in zip(*(r["evaluation"]["anchored"] for r in results), strict=True):
        assert b["bits_per_byte"] == pytest.approx(a["bits_per_byte"], rel=1e-4)


@pytest.mark.parametrize("name", ["ddp", "fsdp2", "rough"])
def test_ranks_share_weights_and_draw_different_dropout_masks(seen, name):
    """Contract 12; a scheme's own parameters, which FSDP2 does not see, are among the weights."""
    first, second = seen(name)
    assert any(name.startswith("scheme.") for name in first["weights"])
    assert_equal(first["weights"], second["weights"])
    if name == "rough":
        masks = zip(first["masks"], second["masks"], strict=True)
        for a, b in masks:
            assert 0.4 < a.float().mean() < 0.6
            assert 0.4 < (a != b).float().mean() < 0.6  # independent


@pytest.mark.parametrize(
    ("resumed", "whole"),
    [
        ("ddp_resumed", "ddp"),
        ("fsdp2_resumed", "fsdp2"),
        ("sharded_resumed", "fsdp2"),
        ("rough_resumed", "rough"),
    ],
)
def test_a_resumed_run_equals_an_uninterrupted_one(ran, resumed, whole):
    """P37, contract 9: died within a step, with accumulation; the last with dropout, bfloat16."""
    result = json.loads((ran / resumed / "result.json").read_text())
    assert result["training"]["resumed"] is True
    assert_equal(weights(ran / resumed), weights(ran / whole))


@pytest.mark.parametrize("name", ["ddp", "fsdp2"])
def test_a_checkpoint_is_one_file_that_plain_torch_opens(seen, ran, name):
    """P38."""
    checkpoint = torch.load(ran / name / "checkpoints" / "last.ckpt", weights_only=True)
    assert checkpoint["global_step"] == 4
    model = make_model(checkpoint["posexp"]["config"])
    model.load_state_dict(model_weights(checkpoint))
    assert_equal(dict(model.named_parameters()), seen(name)[0]["weights"])


def test_earlier_checkpoints_stay_as_asked(ran):
    def names(job):
        return sorted(p.name for p in (ran / job / "checkpoints").iterdir())

    assert names("ddp") == ["last.ckpt", "step-000000002.ckpt"]
    assert names("fsdp2") == ["last.ckpt"]
    assert names("sharded_resumed") == ["last.ckpt", "step-000000002.ckpt"]


def test_a_sharded_checkpoint_is_read_and_consolidated(ran, capsys):
    job = ran / "sharded_resumed"
    path = newest_checkpoint(job)
    assert is_sharded(path)
    assert len(list(path.glob("*.distcp"))) == 2  # one of each rank
    evaluate_checkpoint(path)
    assert (job / "evaluation-1.json").exists()
    written = consolidate(job)
    assert written == path.with_name("last.consolidated.ckpt")
    assert_equal(model_weights(torch.load(written, weights_only=True)), weights(ran / "fsdp2"))
    with pytest.raises(FileExistsError, match="last.consolidated.ckpt exists"):
        consolidate(path)
    with pytest.raises(ValueError, match="is one file already"):
        consolidate(ran / "fsdp2")
