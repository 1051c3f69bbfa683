"""A task's figure: how often the most likely token is the right one, by length and distance.

The windows are the same for every scheme and seed. A length that cannot be measured has null for
its figures and a status that says why (`posexp.evaluation.status`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posexp.data.documents import Corpus, Document, MappedDocuments
from posexp.data.planted import test_window
from posexp.data.windows import TrainingWindows
from posexp.evaluation.anchors import usable_documents
from posexp.evaluation.losses import LossRunner
from posexp.evaluation.settings import eval_lengths
from posexp.evaluation.status import Measured, measure
from posexp.task import Task

#: Test windows are the same for every seed and scheme.
TEST_SEED = 0


def recall(
    model: Callable[[Tensor], Tensor],
    corpus: Corpus,
    config: Mapping[str, Any],
    task: Task,
    *,
    context_length: int,
    bos: str,
    device: str | torch.device = "cpu",
) -> dict[str, Any]:
    """Measure `model` on the test windows of `task`; the arguments are those of `evaluate`.

    Gives `chance`, `windows` (of each row), `rows` with length, distance, status, accuracy and
    `low`, `high`, its 95 % interval; and `lengths`, the same over all distances of a length.
    Windows are text of the evaluated split's documents that are long enough for every length.
    Tasks are for byte tokens.
    """
    lengths = eval_lengths(config, context_length)
    documents = long_documents(corpus, config["split"], lengths[-1])
    runner = LossRunner(model, bos, config["batch_tokens"], device)
    rows, totals = [], []
    for length in lengths:
        windows = test_windows(documents, task, length, bos)
        found = {n: _hits(runner, windows, task, n) for n in task.distances(length)}
        rows += [{"length": length, "distance": n, **_share([found[n]])} for n in found]
        if found:
            totals.append({"length": length, **_share(list(found.values()))})
    return {"chance": task.chance, "windows": task.windows, "lengths": totals, "rows": rows}


def long_documents(corpus: Corpus, split: str, longest: int) -> Sequence[Document]:
    """Those that every length is tested on, as for every other figure."""
    documents = corpus.split(split)
    usable_documents(documents, longest)
    if isinstance(documents, MappedDocuments):
        return documents.longer(longest)
    return [document for document in documents if len(document) > longest]


def test_windows(
    documents: Sequence[Document], task: Task, length: int, bos: str
) -> TrainingWindows:
    """The text of the test windows of one length, before anything is planted in it."""
    return TrainingWindows(documents, length, TEST_SEED, bos, task.windows)


def _hits(runner: LossRunner, windows: TrainingWindows, task: Task, distance: int) -> Measured:
    length = windows.context_length

    def planted(n: int) -> tuple[np.ndarray, np.ndarray]:
        return test_window(windows, task, distance, n)

    return measure(runner.model, length, lambda: runner.hits(planted, len(windows), length))


def _share(measured: Sequence[Measured]) -> dict[str, Any]:
    """The mean over all windows, null where one of the measurements failed."""
    status = next((m.status for m in measured if not m.ok), "ok")
    if status != "ok":
        return {"status": status, "accuracy": None, "low": None, "high": None}
    hits = np.concatenate([m.losses for m in measured])
    low, high = wilson(float(hits.mean()), len(hits))
    return {"status": status, "accuracy": float(hits.mean()), "low": low, "high": high}


def wilson(share: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % interval of a probability after `share` of n trials (Wilson 1927).

    Unlike share +- 1.96 standard errors it has a width where every trial ended in the same way.
    """
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)
