"""Checkpoints: where a job keeps them, that they are whole, and how they are read.

One file that plain torch opens, unless `trainer.sharded_checkpoints` asks for a directory to which
every rank writes its own part.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint
from pytorch_lightning.plugins.io import TorchCheckpointIO

#: Within a job's directory. One name without `=`, which shells and Hydra overrides mistake.
LAST = Path("checkpoints") / "last.ckpt"
#: Beside it, the ones before, with the step in a width that sorts.
EARLIER = "step-{:09d}.ckpt"
#: In a sharded checkpoint, all that is neither a weight nor an optimizer's moment.
META = "meta.pt"


class Checkpoints(Checkpoint):
    """Keeps `checkpoints/last.ckpt` of every so many optimizer steps, and `keep - 1` before it.

    A checkpoint is written under another name and takes its own when it is whole, so a kill at any
    moment leaves one to go on from: `newest_checkpoint` finds it.
    """

    def __init__(self, directory: Path, every_n_steps: int, keep: int = 1) -> None:
        self.path = directory / LAST
        self.every_n_steps = every_n_steps
        self.keep = keep
        self._saved: int | None = None

    def save(self, trainer: pl.Trainer) -> None:
        """Save what there is after this step, once. Every rank calls it."""
        if trainer.global_step == self._saved:
            return
        partial = self.path.with_name(f".{self.path.name}.partial")
        if trainer.is_global_zero:
            _remove(partial)
        trainer.strategy.barrier()
        trainer.save_checkpoint(partial)
        trainer.strategy.barrier()
        if trainer.is_global_zero:
            self._publish(partial, trainer.global_step)
        self._saved = trainer.global_step

    def _publish(self, partial: Path, step: int) -> None:
        # A file is replaced in one go; a directory has to be moved out of the way.
        if self.path.is_dir() or (self.keep > 1 and self.path.exists()):
            before = _read(self.path)["global_step"]
            os.replace(self.path, self.path.with_name(EARLIER.format(before)))
        os.replace(partial, self.path)
        before_this = [p for p in _earlier(self.path.parent) if p.name < EARLIER.format(step)]
        kept = before_this[: self.keep - 1]
        for path in _earlier(self.path.parent):
            if path not in kept:
                _remove(path)

    def on_load_checkpoint(
        self, trainer: pl.Trainer, module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        self._saved = checkpoint["global_step"]

    def on_train_batch_end(
        self, trainer: pl.Trainer, module: pl.LightningModule, *_: Any, **__: Any
    ) -> None:
        if trainer.global_step % self.every_n_steps == 0 and trainer.global_step > 0:
            self.save(trainer)

    def on_train_end(self, trainer: pl.Trainer, module: pl.LightningModule) -> None:
        if trainer.global_step >= trainer.max_steps:
            self.save(trainer)


class PlainFiles(TorchCheckpointIO):
    """Writes where it is told to, and to the disk.

    Lightning's own writes to the system's temporary directory and moves the file from there, which
    is a copy that a kill can cut off wherever the two are different file systems.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None
    ) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            torch.save(checkpoint, file)
            file.flush()
            os.fsync(file.fileno())


def newest_checkpoint(directory: Path) -> Path | None:
    """The checkpoint that a job goes on from: the last whole one, or None."""
    found = [directory / LAST, *_earlier((directory / LAST).parent)]
    return next((path for path in found if _is_whole(path)), None)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The contents of a checkpoint that posexp wrote, on the CPU; of a job's directory, the newest.

    A sharded one is put together; its optimizer then names parameters instead of numbering them.

    Raises `ValueError` if there is no such file or it is not posexp's.
    """
    if path.is_dir() and not is_sharded(path):
        path = newest_checkpoint(path) or path / LAST
    if not path.exists():
        raise ValueError(f"there is no checkpoint at {path}; a job keeps its own in {LAST}")
    try:
        checkpoint = _read(path)
        if path.is_dir():
            checkpoint = _shards(path) | checkpoint
    except Exception as error:
        raise ValueError(f"{path} is not a readable checkpoint: {error}") from error
    if "posexp" not in checkpoint:
        raise ValueError(f"{path} is a checkpoint, but posexp did not write it")
    return checkpoint


def consolidate(path: Path) -> Path:
    """Write a sharded checkpoint as one file beside it: `last.ckpt` as `last.consolidated.ckpt`.

    `path` is the checkpoint's directory or the job's. Raises `ValueError` if it is not sharded, and
    `FileExistsError` if the file exists.
    """
    if path.is_dir() and not is_sharded(path):
        path = newest_checkpoint(path) or path / LAST
    if path.is_file():
        raise ValueError(f"{path} is one file already")
    checkpoint = read_checkpoint(path)
    written = path.with_name(f"{path.stem}.consolidated{path.suffix}")
    if written.exists():
        raise FileExistsError(f"{written} exists; move it away first")
    partial = written.with_name(f".{written.name}.partial")
    torch.save(checkpoint, partial)
    os.replace(partial, written)
    return written


def is_sharded(path: Path) -> bool:
    """Whether `path` is a checkpoint of which every rank wrote its own part."""
    return (path / META).is_file()


def model_weights(checkpoint: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """The transformer's state dict out of a Lightning checkpoint."""
    prefix = "model."
    return {
        name.removeprefix(prefix): weight
        for name, weight in checkpoint["state_dict"].items()
        if name.startswith(prefix)
    }


def _read(path: Path) -> dict[str, Any]:
    """A checkpoint's file, or what a sharded one has beside its weights."""
    file = path / META if path.is_dir() else path
    return torch.load(file, map_location="cpu", weights_only=True)


def _shards(path: Path) -> dict[str, Any]:
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

    buffer = BytesIO()
    dcp_to_torch_save(path, buffer)
    buffer.seek(0)
    parts = torch.load(buffer, weights_only=True)
    return {"state_dict": parts["state_dict"], "optimizer_states": [parts["optimizer_0"]]}


def _earlier(directory: Path) -> list[Path]:
    """The checkpoints before the last, newest first."""
    return sorted(directory.glob(EARLIER.replace("{:09d}", "*")), reverse=True)


def _is_whole(path: Path) -> bool:
    # A zip archive has its table of contents at the end.
    return is_sharded(path) if path.is_dir() else zipfile.is_zipfile(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
