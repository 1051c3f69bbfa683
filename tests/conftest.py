"""Shared by all tests: threads, and a job small enough to train in a second."""

import copy
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from posexp.local import only

# pytest-xdist already uses the cores.
torch.set_flush_denormal(True)
torch.set_num_threads(1)

CONFIG = {
    "model": {
        "n_layers": 2, "d_model": 16, "n_heads": 2, "n_kv_heads": None, "d_ff": None,
        "norm": "layernorm", "activation": "gelu", "causal": True, "tie_embeddings": True,
        "embedding_scale": None, "dropout": 0.0, "attention_dropout": 0.0, "kernel": "auto",
    },
    "data": {"name": "text", "path": None, "bos": "window"},
    "scheme": {"name": "nope"},
    "span": {"name": "full", "window": None},
    "optimizer": {
        "lr": 0.01, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "warmup_steps": 2,
        "final_lr_fraction": 0.1, "gradient_clip": 1.0,
    },
    "trainer": {
        "context_length": 16, "max_steps": 6, "batch_size": 4, "accumulate": 1,
        "precision": "32-true", "accelerator": "cpu", "devices": 1, "threads": 1,
        "strategy": "auto", "workers": 0, "log_every": 2, "val_every": 3, "val_windows": 4,
        "checkpoint_every": 2, "keep_checkpoints": 1, "sharded_checkpoints": False,
    },
    "evaluation": {
        "lengths": None, "targets": 4, "anchors": 4, "split": "test", "foreign_split": "val",
        "curve_windows": 1, "literature_windows": 1, "batch_tokens": 512,
    },
    "tracking": {"name": "csv"},
    "seed": 0, "seed_init": 0, "seed_data": 0,
}  # fmt: skip


@pytest.fixture
def text(tmp_path) -> Path:
    """A JSONL corpus with one document of 600 random letters in each split."""
    letters = np.random.default_rng(0).choice(list("abcdefgh "), (3, 600))
    path = tmp_path / "text.jsonl"
    lines = [
        json.dumps({"id": split, "split": split, "text": "".join(row)})
        for split, row in zip(("train", "val", "test"), letters, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def make_config(text):
    """`make_config(trainer={"max_steps": 3}, scheme={"name": "t5"})`."""

    def make(**sections):
        config = copy.deepcopy(CONFIG)
        config["data"]["path"] = str(text)
        for section, values in sections.items():
            if section in ("scheme", "task", "objective") or not isinstance(values, dict):
                config[section] = values
            else:
                config[section] |= values
        return config

    return make


PLUGIN = """\
from dataclasses import dataclass

import torch

from posexp.local import only
from posexp import PositionScheme, SchemeSpec, hookimpl


@dataclass
class MineConfig:
    strength: float = 2.0


class Mine(PositionScheme):
    def distance_bias(self, n):
        return (-self.config.strength * torch.log1p(n.abs().float())).expand(self.dims.n_heads, -1)


@hookimpl
def posexp_schemes():
    return [SchemeSpec("mine", MineConfig, Mine)]
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch) -> Path:
    """A file `mine.py` with the scheme `mine`, not yet in use; whatever is used ends with the test.

    It lies in a directory of its own beside the test's.
    """
    monkeypatch.delenv("POSEXP_PLUGINS", raising=False)
    path = tmp_path / "user" / "mine.py"
    path.parent.mkdir()
    path.write_text(PLUGIN)
    with only([]):
        yield path
