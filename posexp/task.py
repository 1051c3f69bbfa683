"""The contract of an evaluation task: what it plants in windows of text, and what is asked there.

A task makes tokens and says which of them are scored; it never sees a model. posexp mixes its
windows into training, runs every model on the same test windows, and reports how often the most
likely token is the right one, by length and distance.

Shapes: L is the length of a window. Its L + 1 tokens are the L inputs and the last target: token i
is the input at position i and the target at position i - 1. Token 0 (BOS, where windows start with
it) stays as it is and is never scored. Tokens are bytes, and BOS is 256: a job of another tokenizer
has no task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posexp.registry import task_registry

Planted = tuple[np.ndarray, np.ndarray]
"""Tokens (L + 1,) int64, and which of them are scored as targets, (L + 1,) bool."""


class Task:
    """Subclass this, set the attributes, and override the methods.

    share
        The share of training windows that `training_window` changes, in [0, 1).
    windows
        The number of test windows for each length and distance.
    chance
        The accuracy of a guess by one who knows what is asked.

    Both window methods must be functions of their arguments alone: the generator is keyed by the
    sample, so that every scheme, and a resumed run, sees the same windows.
    """

    share: float = 0.0
    windows: int = 128
    chance: float = 0.0

    def __init__(self, config: Any = None, context_length: int = 128) -> None:
        """Raise `ValueError` here for settings that do not go with the training length T."""
        self.config = config
        self.context_length = context_length

    def training_window(self, tokens: np.ndarray, random: np.random.Generator) -> Planted:
        """A window of training text (T + 1,), changed. Leave unscored what nobody can predict."""
        raise NotImplementedError

    def distances(self, length: int) -> list[int]:
        """The distances that are tested in windows of `length`, ascending; none leaves it out."""
        raise NotImplementedError

    def test_window(
        self, tokens: np.ndarray, distance: int, random: np.random.Generator
    ) -> Planted:
        """A window of held-out text (L + 1,), changed; only the answers are scored."""
        raise NotImplementedError


@dataclass(frozen=True)
class TaskSpec:
    """What a plugin's `posexp_tasks` hook returns for each of its tasks.

    `config` is a dataclass whose fields all have defaults (or `omegaconf.MISSING`); `build` makes
    the task from a config and the training length T, usually the task class itself.
    """

    name: str
    config: type
    build: Callable[[Any, int], Task]


def build_task(config: Mapping[str, Any], context_length: int) -> Task:
    """The task that a plain mapping `{name: needle, share: 0.25}` describes, for training length T.

    Raises `PluginError` if the task cannot be used, `ValueError` for a bad parameter.
    """
    typed = task_registry().config(config)
    spec: TaskSpec = task_registry().get(config["name"])
    return spec.build(typed, context_length)
