"""Loss of the same targets at every context length, A(L): the headline figure.

For an anchor a, the window of length L is x[a + S - 1 - L .. a + S - 2] at positions from 0 (the
first of these is BOS where windows start with it), and its last S positions are scored: the targets
x[a .. a + S - 1] whatever L is, each seeing from L - S + 1 to L tokens. The average over
non-overlapping windows falls with L even where a model ignores the context, since fewer targets
stand near a window's start; this one does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posexp.data.documents import Document
from posexp.data.windows import window
from posexp.evaluation.anchors import Anchors
from posexp.evaluation.losses import LossRunner, Windows


def anchored_losses(
    runner: LossRunner, documents: Sequence[Document], anchors: Anchors, length: int
) -> np.ndarray:
    """Nats of every anchor's targets at context `length`: (anchors, S) float64.

    Raises what the model raises at this length.
    """
    windows = anchored_windows(runner, documents, anchors, length)
    return runner.losses(windows, len(anchors), length)


def anchored_sizes(
    runner: LossRunner, documents: Sequence[Document], anchors: Anchors
) -> np.ndarray:
    """The bytes of every anchor's targets, (anchors, S) int64, the same at every length."""
    windows = anchored_windows(runner, documents, anchors, anchors.targets)
    return runner.sizes(windows, len(anchors))


def anchored_windows(
    runner: LossRunner, documents: Sequence[Document], anchors: Anchors, length: int
) -> Windows:
    """The window of each anchor at context `length`, and its targets."""

    def anchored_window(n: int) -> tuple[np.ndarray, np.ndarray]:
        inputs, targets = window(
            documents[anchors.document[n]].tokens,
            anchors.end(n) - length,
            length,
            runner.bos,
            runner.token,
        )
        return inputs, targets[-anchors.targets :]

    return anchored_window
