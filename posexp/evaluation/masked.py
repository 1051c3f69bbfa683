"""Loss of the same masked tokens at every context length, for models that see both sides.

S is `evaluation.targets`. The windows of an anchor are centred on its block x[b .. b + S - 1]: the
one of length L has ceil((L - S) / 2) places before the block, the first of which is BOS where
windows start with it, and floor((L - S) / 2) after it, at positions from 0. The longest window is
the one that `anchored_losses` feeds for the same anchor, so that blocks are disjoint and documents
of Lmax + 1 tokens are enough.

An anchor has one pattern of masks over its longest window, a function of (document, b) alone. Of
the block, k = max(1, round(rate S)) places are masked: these are the targets. Of the places around
it each is masked with probability `rate`, as it was in training, so that the share of MASK does not
fall as the context grows. Places keep their masks at every L. One forward pass a window; MASK
stands in every masked place, whatever stood there in training, so that models of the same rate are
scored on the same task.

The foreign context keeps the T places around the block; what is further away, on either side, comes
from one run of another document, of which every length uses the part nearest to its middle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posexp.data.documents import Document
from posexp.data.masking import TEST, Masking, smallest, uniform
from posexp.data.packing import IGNORED
from posexp.data.windows import window
from posexp.evaluation.anchors import Anchors
from posexp.evaluation.foreign import prefix_ends
from posexp.evaluation.losses import LossRunner
from posexp.evaluation.settings import eval_lengths
from posexp.objective import MLM

#: Masks are the same for every seed and scheme.
TEST_SEED = 0

#: What `evaluate` measures of next-token models alone, and why.
NOT_APPLICABLE = {
    "curve": "every position sees the whole window: there is no amount of context to plot it by",
    "literature": "windows that overlap or not are ways to give a target what stands before it",
}


@dataclass(frozen=True)
class MaskedBlocks:
    """The windows around each block, and their losses. `longest` is Lmax."""

    runner: LossRunner
    documents: Sequence[Document]
    anchors: Anchors
    masking: Masking
    longest: int

    @classmethod
    def centred(
        cls,
        runner: LossRunner,
        documents: Sequence[Document],
        anchors: Anchors,
        masking: Masking,
        longest: int,
    ) -> MaskedBlocks:
        """The blocks in the middle of the longest windows of `anchors`."""
        s = anchors.targets
        position = anchors.position + s - 1 - longest + places_before(longest, s)
        return cls(runner, documents, replace(anchors, position=position), masking, longest)

    @property
    def count(self) -> int:
        """k, the masked places of a block."""
        return self.masking.count(self.anchors.targets)

    def losses(self, length: int) -> np.ndarray:
        """Nats of every anchor's masked targets at context `length`: (anchors, k) float64."""
        return self.runner.losses(
            lambda n: self._masked(n, self._own(n, length)), len(self.anchors), length
        )

    def sizes(self) -> np.ndarray:
        """The bytes of every anchor's masked targets, (anchors, k) int64, the same at every L."""
        return self.runner.sizes(
            lambda n: self._masked(n, self._own(n, self.longest)), len(self.anchors)
        )

    def foreign_losses(
        self, length: int, lenders: Sequence[Document], context_length: int
    ) -> np.ndarray:
        """The same with what is further than T places replaced by another document.

        Raises `ValueError` where no other document is long enough.
        """
        s, t = self.anchors.targets, context_length
        ends = prefix_ends(self.documents, lenders, self.anchors, self.longest - t)
        before, after = (_beyond(length, t, s, side) for side in (places_before, places_after))
        most_after = _beyond(self.longest, t, s, places_after)

        def foreign_window(n: int) -> tuple[np.ndarray, np.ndarray]:
            inputs, (lender, end) = self._own(n, length), ends[n]
            middle = end - most_after
            run = lenders[lender].tokens[middle - before : middle + after]
            inputs[:before], inputs[length - after :] = run[:before], run[before:]
            if self.runner.bos == "window":
                inputs[0] = self.masking.bos
            return self._masked(n, inputs)

        return self.runner.losses(foreign_window, len(self.anchors), length)

    def masks(self, n: int) -> np.ndarray:
        """Which places of anchor n's longest window are masked, (Lmax,) bool."""
        key = int(self.anchors.document[n]), int(self.anchors.position[n])
        drawn = uniform(TEST_SEED, TEST, *key, self.longest)
        masked = drawn < self.masking.rate
        first = places_before(self.longest, self.anchors.targets)
        block = slice(first, first + self.anchors.targets)
        masked[block] = False
        masked[first + smallest(drawn[block], self.count)] = True
        return masked

    def _own(self, n: int, length: int) -> np.ndarray:
        """The tokens of the document around block n, (length,) int64."""
        first = int(self.anchors.position[n]) - places_before(length, self.anchors.targets)
        tokens = self.documents[self.anchors.document[n]].tokens
        return window(tokens, first + 1, length, self.runner.bos, self.masking.bos)[0]

    def _masked(self, n: int, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The window with its masks, and the targets of the block and of what comes after it."""
        s, length = self.anchors.targets, len(inputs)
        before = places_before(length, s)
        cut = places_before(self.longest, s) - before
        masked = self.masks(n)[cut : cut + length] & (inputs != self.masking.bos)
        targets = np.full(length - before, IGNORED, dtype=np.int64)
        targets[:s] = np.where(masked, inputs, IGNORED)[before : before + s]
        return np.where(masked, self.masking.token, inputs), targets


def places_before(length: int, targets: int) -> int:
    """How many places of a window stand before its block."""
    return (length - targets + 1) // 2


def places_after(length: int, targets: int) -> int:
    """How many stand after it."""
    return (length - targets) // 2


def check_masked(config: Mapping[str, Any], context_length: int) -> None:
    """Raise `ValueError` for a length that leaves no place before a block, where BOS would stand.

    The arguments are those of `check_evaluation`.
    """
    shortest, targets = eval_lengths(config, context_length)[0], config["targets"]
    if shortest <= targets:
        raise ValueError(
            f"evaluation.lengths: with objective=mlm {shortest} leaves nothing around "
            f"targets={targets}, the part of a window that is scored; nearest valid: {targets + 1}"
        )


def without_whole_windows(blocks: MaskedBlocks) -> dict[str, Any]:
    """What stands in the results in place of the figures that score whole windows."""
    return {
        "objective": MLM,
        "masked": blocks.count,
        "curve": [],
        "curve_status": "not applicable",
        "literature": [],
        "not_applicable": NOT_APPLICABLE,
    }


def _beyond(length: int, context_length: int, targets: int, side: Callable[[int, int], int]) -> int:
    """How many places of one side are further away than those of a window of T."""
    return side(length, targets) - side(context_length, targets)
