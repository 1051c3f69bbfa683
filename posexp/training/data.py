"""The training and validation windows as a LightningDataModule without sampler state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl
from torch.utils.data import DataLoader, Dataset

from posexp.data.documents import Corpus
from posexp.data.masking import MaskedWindows, Masking
from posexp.data.planted import PlantedWindows
from posexp.data.sampler import StepSampler
from posexp.data.windows import TrainingWindows
from posexp.training.tasks import make_task

#: Validation windows are the same for every seed and scheme.
VALIDATION_SEED = 0


class _WholeRun(StepSampler):
    """Counts the batches of the whole run: Lightning goes on counting where a resumed run stopped,
    and would call it finished at the length of what remains."""

    def __len__(self) -> int:
        return self.max_steps * self.accumulate


class WindowsDataModule(pl.LightningDataModule):
    """Sample n is a pure function of (seed_data, n); a resumed run starts at its step's first n."""

    def __init__(self, corpus: Corpus, config: Mapping[str, Any]) -> None:
        super().__init__()
        self.corpus = corpus
        self.config = config

    def train_dataloader(self) -> DataLoader:
        trainer = self.config["trainer"]
        n_samples = trainer["max_steps"] * trainer["batch_size"]
        sampler = _WholeRun(
            first_step=self.trainer.global_step,
            max_steps=trainer["max_steps"],
            batch_size=trainer["batch_size"],
            accumulate=trainer["accumulate"],
            rank=self.trainer.global_rank,
            world_size=self.trainer.world_size,
        )
        return DataLoader(
            self._samples(self._windows("train", self.config["seed_data"], n_samples)),
            batch_sampler=sampler,
            num_workers=trainer["workers"],
            persistent_workers=trainer["workers"] > 0,
            pin_memory=trainer["accelerator"] == "gpu",
        )

    def val_dataloader(self) -> DataLoader | list:
        trainer = self.config["trainer"]
        if trainer["val_every"] is None:
            return []
        windows = self._windows("val", VALIDATION_SEED, trainer["val_windows"])
        return DataLoader(self._masked(windows), batch_size=32)

    def _samples(self, windows: TrainingWindows) -> Dataset:
        """Training windows alone are planted: the val split stays plain text, whatever the task."""
        task = make_task(self.config)
        return self._masked(windows) if task is None else PlantedWindows(windows, task)

    def _masked(self, windows: TrainingWindows) -> Dataset:
        tokenizer = self.corpus.tokenizer
        masking = Masking.of(self.config, tokenizer.bos, tokenizer.vocabulary)
        return windows if masking is None else MaskedWindows(windows, masking)

    def _windows(self, split: str, seed: int, size: int) -> TrainingWindows:
        return TrainingWindows(
            self.corpus.split(split),
            context_length=self.config["trainer"]["context_length"],
            seed_data=seed,
            bos=self.config["data"]["bos"],
            size=size,
            token=self.corpus.tokenizer.bos,
        )
