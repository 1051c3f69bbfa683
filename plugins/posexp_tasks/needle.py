"""Needle: recall, at a question, the value that a key was given far back.

A needle is a key followed by its value; a question is the same key once more, and its answer the
same value. Keys are bytes that UTF-8 never contains, values are letters a to z drawn anew in every
window, so that only the window itself tells the answer (chance: 1/26). Needles and questions are
put into running text, which goes on unchanged around them.

A training window asks for each needle once, or up to `questions` times, drawn anew: keys stand at
random places in random order, a needle first, then its questions. Many questions teach recall
within minutes, few keep distances long. Keys and planted values cannot be predicted and are not
scored. A test window of length L holds every needle once; its last input asks for the one that
stands `distance` tokens before it, at distances L/8, L/4, L/2 and 7L/8.

With several needles the key says which one is asked for; that takes far longer to learn
(experiments/LOG.md).

Small models cannot read a needle that is written in words, hence one of trained tokens: the
questions of Arora et al. 2023, "Zoology" (multi-query associative recall), in the filler text of
Mohtashami and Jaggi 2023, "Landmark Attention" (passkey retrieval).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posexp import Planted, Task, TaskSpec, hookimpl

KEYS = np.arange(0xF5, 0x100)  # 11 bytes that are in no valid UTF-8
VALUES = np.arange(ord("a"), ord("z") + 1)


@dataclass
class NeedleConfig:
    """`needles` keys a window, each asked for 1 to `questions` times in training.

    `share` of the training windows is changed, `windows` are tested for each length and distance.
    Raises `ValueError` for values out of range.
    """

    needles: int = 1
    questions: int = 15
    share: float = 0.5
    windows: int = 128

    def __post_init__(self) -> None:
        if not 1 <= self.needles <= len(KEYS):
            raise ValueError(
                f"needle: needles must be 1 to {len(KEYS)}, a key for each, got {self.needles}; "
                f"nearest valid: {min(max(self.needles, 1), len(KEYS))}"
            )
        if not 0 <= self.share < 1:
            raise ValueError(
                f"needle: share must be in [0, 1), so that plain text is left, got {self.share}"
            )
        for name in ("questions", "windows"):
            if getattr(self, name) < 1:
                raise ValueError(f"needle: {name} must be at least 1, got {getattr(self, name)}")


class Needle(Task):
    """Recall of a value by its key. Raises `ValueError` for a T that does not hold the needles."""

    chance = 1 / len(VALUES)

    def __init__(self, config: NeedleConfig, context_length: int) -> None:
        super().__init__(config, context_length)
        self.share, self.windows = config.share, config.windows
        pairs = config.needles * (1 + config.questions)
        if 4 * pairs > context_length:
            fewer = context_length // (4 * config.needles) - 1
            valid = f"task.questions={fewer} or " if fewer > 0 else ""
            raise ValueError(
                f"needle: {pairs} pairs of tokens leave less than half of context_length="
                f"{context_length} to the text; nearest valid: {valid}"
                f"trainer.context_length={4 * pairs}"
            )

    def training_window(self, tokens: np.ndarray, random: np.random.Generator) -> Planted:
        """Every key twice or more, in random order at random places."""
        copies = 1 + random.integers(1, self.config.questions, endpoint=True)
        order = random.permutation(np.repeat(np.arange(self.config.needles), copies))
        # Places in a window that has one token less for each pair, which are then put back.
        n = len(order)
        starts = 1 + np.sort(random.choice(len(tokens) - 1 - n, n, replace=False)) + np.arange(n)
        planted, scored = _insert(tokens, starts, self._pairs(random)[order])
        asked = [which in order[:i] for i, which in enumerate(order)]
        scored[starts[asked] + 1] = True
        scored[0] = False
        return planted, scored

    def distances(self, length: int) -> list[int]:
        """An eighth, a quarter, a half and seven eighths of a length that holds the needles."""
        if length < max(16, 4 * self.config.needles):
            return []
        return [n * length // 8 for n in (1, 2, 4, 7)]

    def test_window(
        self, tokens: np.ndarray, distance: int, random: np.random.Generator
    ) -> Planted:
        """The last pair asks for the needle `distance` tokens before it; the others distract."""
        question = len(tokens) - 2
        needle = question - distance
        # Every second place, so that no two pairs overlap.
        free = [p for p in range(2 - needle % 2, question - 1, 2) if p != needle]
        others = random.choice(free, self.config.needles - 1, replace=False)
        pairs = self._pairs(random)
        planted, _ = _insert(
            tokens, np.array([question, needle, *others]), np.concatenate([pairs[:1], pairs])
        )
        scored = np.zeros(len(tokens), dtype=bool)
        scored[-1] = True
        return planted, scored

    def _pairs(self, random: np.random.Generator) -> np.ndarray:
        """Every key in random order, each with a value: (needles, 2)."""
        keys = random.permutation(KEYS[: self.config.needles])
        return np.stack([keys, random.choice(VALUES, self.config.needles)], axis=1)


def _insert(tokens: np.ndarray, starts: np.ndarray, pairs: np.ndarray) -> Planted:
    """Put a pair (2,) at each start; the text, which is marked, goes on around them."""
    planted, text = tokens.copy(), np.ones(len(tokens), dtype=bool)
    text[starts] = text[starts + 1] = False
    planted[text] = tokens[: text.sum()]
    planted[starts], planted[starts + 1] = pairs.T
    return planted, text


@hookimpl
def posexp_tasks() -> list[TaskSpec]:
    return [TaskSpec("needle", NeedleConfig, Needle)]
