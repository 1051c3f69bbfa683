"""Where losses are measured: the same target blocks at every length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posexp.data.documents import Document, lengths
from posexp.evaluation.places import count_places, evenly_spread, find_places


@dataclass(frozen=True)
class Anchors:
    """Blocks of S = `targets` targets x[a .. a + S - 1], in document order.

    `document` (n,) is an index into the split's documents, `position` (n,) the first target a.
    `excluded` counts the documents that are too short for the longest length.
    """

    document: np.ndarray
    position: np.ndarray
    targets: int
    excluded: int

    def end(self, n: int) -> int:
        """The index after anchor n's last target."""
        return int(self.position[n]) + self.targets

    def __len__(self) -> int:
        return len(self.position)


def usable_documents(documents: Sequence[Document], longest: int) -> int:
    """The number of documents of at least Lmax + 1 tokens: a full window and its last target.

    Raises `ValueError` where there is none.
    """
    usable = count_places(lengths(documents), lambda sizes: sizes > longest)
    if not usable:
        sizes = ", ".join(f"{d.id} ({len(d.tokens)} tokens)" for d in documents[:5])
        if len(documents) > 5:
            sizes += f" and {len(documents) - 5} more"
        most = int(lengths(documents).max(initial=0))
        raise ValueError(
            f"no document is long enough for evaluation length {longest}, which needs "
            f"{longest + 1} tokens: {sizes or 'the split is empty'}"
            + (f"; longest possible: {most - 1}" if most > 1 else "")
        )
    return usable


def place_anchors(documents: Sequence[Document], longest: int, targets: int, count: int) -> Anchors:
    """At most `count` anchors a = Lmax + 1 - S + k S, evenly spread over all that there are.

    The blocks are disjoint, and each has Lmax tokens before its last target, so that every length
    scores the same blocks. No randomness: schemes and seeds share them.
    """
    usable = usable_documents(documents, longest)

    def blocks(sizes: np.ndarray) -> np.ndarray:
        """How many k there are with a + S <= |x|."""
        return np.where(sizes > longest, (sizes - longest - 1) // targets + 1, 0)

    chosen = evenly_spread(count_places(lengths(documents), blocks), count)
    owner, k = find_places(lengths(documents), blocks, chosen)
    return Anchors(
        document=owner,
        position=longest + 1 - targets + k * targets,
        targets=targets,
        excluded=len(documents) - usable,
    )
