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
from posexp.evaluation.losses import LossRunner


def anchored_losses(
    runner: LossRunner, documents: Sequence[Document], anchors: Anchors, length: int
) -> np.ndarray:
    """Nats of every anchor's targets at context `length`: (anchors, S) float64.

    Raises what the model raises at this length.
    """

    def anchored_window(n: int) -> tuple[np.ndarray, np.ndarray]:
        inputs, targets = window(
            documents[anchors.document[n]].tokens, anchors.end(n) - length, length, runner.bos
        )
        return inputs, targets[-anchors.targets :]

    return runner.losses(anchored_window, len(anchors), length)
