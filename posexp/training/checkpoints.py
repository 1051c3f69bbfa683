"""Checkpoints that plain torch opens, and where a job keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.callbacks import ModelCheckpoint

#: Within a job's directory. One name without `=`, which shells and Hydra overrides mistake.
LAST = Path("checkpoints") / "last.ckpt"


def checkpoint_callback(directory: Path, every_n_steps: int) -> ModelCheckpoint:
    """Writes `checkpoints/last.ckpt` every so many optimizer steps, replacing it atomically."""
    return ModelCheckpoint(
        dirpath=directory / LAST.parent,
        filename=LAST.stem,
        every_n_train_steps=every_n_steps,
        save_top_k=1,
        enable_version_counter=False,
        save_on_train_epoch_end=False,
    )


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The contents of a checkpoint that posexp wrote, on the CPU.

    Raises `ValueError` if there is no such file or it is not posexp's.
    """
    if path.is_dir():
        path = path / LAST
    if not path.is_file():
        raise ValueError(f"there is no checkpoint at {path}; a job keeps its own in {LAST}")
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(f"{path} is not a readable checkpoint: {error}") from error
    if "posexp" not in checkpoint:
        raise ValueError(f"{path} is a checkpoint, but posexp did not write it")
    return checkpoint


def model_weights(checkpoint: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The transformer's state dict out of a Lightning checkpoint."""
    prefix = "model."
    return {
        name.removeprefix(prefix): weight
        for name, weight in checkpoint["state_dict"].items()
        if name.startswith(prefix)
    }
