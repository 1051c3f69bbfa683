"""Windows that a task has changed: still pure functions of their keys, so the same for everyone."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from posexp.data.packing import IGNORED
from posexp.data.tokens import VOCABULARY
from posexp.data.windows import TrainingWindows
from posexp.task import Planted, Task

# Keys of the random streams, apart from each other and from the draw of the window itself.
TRAINING, TEST = 1, 2


class PlantedWindows(Dataset[dict[str, Any]]):
    """Training windows of which `task` changes its share; item n as in `TrainingWindows`.

    Which windows, and how, is a function of (seed_data, n) as well. Packs stay as they are.
    """

    def __init__(self, windows: TrainingWindows, task: Task) -> None:
        self.windows = windows
        self.task = task

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, n: int) -> dict[str, Any]:
        item = self.windows[n]
        random = np.random.default_rng([self.windows.seed_data, TRAINING, n])
        if random.random() >= self.task.share or is_pack(item):
            return item
        inputs, targets = split(self.task.training_window(joined(item), random), joined(item))
        return item | {"inputs": torch.from_numpy(inputs), "targets": torch.from_numpy(targets)}


def test_window(
    windows: TrainingWindows, task: Task, distance: int, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets (L,) of the n-th test window, the same text at every distance."""
    tokens = joined(windows[n])
    random = np.random.default_rng([windows.seed_data, TEST, windows.context_length, distance, n])
    return split(task.test_window(tokens, distance, random), tokens)


def is_pack(item: dict[str, Any]) -> bool:
    """Whether a window holds several documents."""
    return "documents" in item and bool(item["documents"].any())


def joined(item: dict[str, Any]) -> np.ndarray:
    """The L + 1 tokens of a window: its inputs, and its last target."""
    return torch.cat([item["inputs"], item["targets"][-1:]]).numpy()


def split(planted: Planted, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets (L,), -100 where nothing is scored.

    Raises `ValueError` where a task did not keep to the contract.
    """
    tokens, scored = (np.asarray(part) for part in planted)
    if tokens.shape != before.shape or scored.shape != before.shape or scored.dtype != bool:
        raise ValueError(
            f"the task must give tokens and bools of shape {before.shape}, it gave "
            f"{tokens.shape} {tokens.dtype} and {scored.shape} {scored.dtype}"
        )
    if not ((tokens >= 0) & (tokens < VOCABULARY)).all():
        raise ValueError(f"the task gave tokens outside 0 .. {VOCABULARY - 1}")
    if tokens[0] != before[0]:
        raise ValueError("the task changed token 0, the one before the first target")
    targets = np.where(scored, tokens, IGNORED)[1:]
    return tokens[:-1].astype(np.int64), targets.astype(np.int64)
