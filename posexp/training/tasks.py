"""The task of a job, if it has one, tried on a window of each kind before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posexp.data.bos import count_windows
from posexp.data.documents import Corpus
from posexp.data.planted import joined, split, test_window
from posexp.data.windows import TrainingWindows
from posexp.evaluation.recall import long_documents, test_windows
from posexp.evaluation.settings import eval_lengths
from posexp.registry import PluginError
from posexp.task import Task, build_task


def make_task(config: Mapping[str, Any]) -> Task | None:
    """The task of a resolved config; None with task=none. Raises as `build_task`."""
    if "task" not in config:
        return None
    return build_task(config["task"], config["trainer"]["context_length"])


def check_task(config: Mapping[str, Any], corpus: Corpus) -> None:
    """Raise `ValueError` for a task that cannot be carried out, `PluginError` for one that fails.

    A window of training and one of every length and distance are planted, and thrown away.
    """
    task = make_task(config)
    if task is None:
        return
    name = config["task"]["name"]
    if not corpus.tokenizer.is_bytes:
        raise ValueError(
            f"task={name} writes bytes, and the tokens of corpus {corpus.name} are those of "
            f"{corpus.tokenizer.identity}; set data.tokenizer=bytes, or task=none"
        )
    try:
        if not 0 <= task.share < 1:
            raise ValueError(f"{name}: share must be in [0, 1), got {task.share}")
        if task.windows < 1:
            raise ValueError(f"{name}: windows must be at least 1, got {task.windows}")
        if task.share > 0:
            _try_training(task, name, corpus, config)
        _try_test(task, name, corpus, config)
    except (ValueError, PluginError):
        raise
    except Exception as error:
        raise PluginError(f"the task {name!r} raised {type(error).__name__}: {error}") from error


def _try_training(task: Task, name: str, corpus: Corpus, config: Mapping[str, Any]) -> None:
    length, bos = config["trainer"]["context_length"], config["data"]["bos"]
    long = [d for d in corpus.split("train") if count_windows(len(d), length, bos)]
    if not long:
        longest = max(len(d) for d in corpus.split("train"))
        raise ValueError(
            f"{name}: every training document is shorter than context_length={length}, so that "
            f"there is no window of one document to plant in; nearest valid context_length: "
            f"{longest}, or set task.share=0"
        )
    tokens = joined(TrainingWindows(long, length, 0, bos, 1)[0])
    split(task.training_window(tokens, np.random.default_rng(0)), tokens)


def _try_test(task: Task, name: str, corpus: Corpus, config: Mapping[str, Any]) -> None:
    lengths = eval_lengths(config["evaluation"], config["trainer"]["context_length"])
    documents = long_documents(corpus, config["evaluation"]["split"], lengths[-1])
    tested = 0
    for length in lengths:
        windows = test_windows(documents, task, length, config["data"]["bos"])
        for distance in task.distances(length):
            _, targets = test_window(windows, task, distance, 0)
            tested += 1
            if (targets < 0).all():
                raise ValueError(
                    f"{name}: nothing is scored at length {length} and distance {distance}"
                )
    if not tested:
        raise ValueError(f"{name} tests none of evaluation.lengths={lengths}: they are too short")
