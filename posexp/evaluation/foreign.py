"""The foreign prefix: what a model gets from far tokens, apart from what far positions do to it.

A window longer than the training length T keeps its last T tokens; the older ones come from
another document. A_foreign(L) - A(L) is the use of their content, A_foreign(L) - A(T) the damage
that unseen positions do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posexp.data.documents import Document
from posexp.data.windows import window
from posexp.evaluation.anchors import Anchors, evenly_spread, usable_documents
from posexp.evaluation.losses import LossRunner


def foreign_losses(
    runner: LossRunner,
    documents: Sequence[Document],
    lenders: Sequence[Document],
    anchors: Anchors,
    length: int,
    *,
    longest: int,
    context_length: int,
) -> np.ndarray:
    """Nats as `anchored_losses` gives them, (anchors, S), with the L - T oldest tokens replaced.

    A prefix of one anchor ends at the same token of the same lender at every length, so that
    lengths are compared on the same text. BOS, where windows start with it, stays in front.
    Raises `ValueError` where no other document is long enough.
    """
    borrowed = length - context_length
    ends = prefix_ends(documents, lenders, anchors, longest - context_length)

    def foreign_window(n: int) -> tuple[np.ndarray, np.ndarray]:
        inputs, targets = window(
            documents[anchors.document[n]].tokens, anchors.end(n) - length, length, runner.bos
        )
        lender, end = ends[n]
        prefix, _ = window(lenders[lender].tokens, end - borrowed, borrowed, runner.bos)
        return np.concatenate([prefix, inputs[borrowed:]]), targets[-anchors.targets :]

    return runner.losses(foreign_window, len(anchors), length)


def check_foreign(
    documents: Sequence[Document], lenders: Sequence[Document], *, longest: int, prefix: int
) -> None:
    """Raise `ValueError` where a document that is scored finds no other to borrow from."""
    for n in usable_documents(documents, longest):
        _lenders_of(documents[n], lenders, prefix)


def _lenders_of(document: Document, lenders: Sequence[Document], prefix: int) -> list[int]:
    found = [
        n
        for n, other in enumerate(lenders)
        if other.id != document.id and len(other.tokens) > prefix
    ]
    if not found:
        others = ", ".join(f"{d.id} ({len(d.tokens)} tokens)" for d in lenders[:5]) or "none"
        raise ValueError(
            f"the foreign prefix needs {prefix + 1} tokens of a document other than "
            f"{document.id}; the foreign split has: {others}. Set evaluation.foreign_split to "
            "another split, or to null to leave this control out"
        )
    return found


def prefix_ends(
    documents: Sequence[Document], lenders: Sequence[Document], anchors: Anchors, prefix: int
) -> list[tuple[int, int]]:
    """For each anchor a lender and where its prefix ends, evenly spread over the lenders.

    Every prefix of up to `prefix` tokens lies in its lender, and so does the token before it.
    """
    ends: list[tuple[int, int]] = [(0, 0)] * len(anchors)
    for owner in np.unique(anchors.document):
        able = _lenders_of(documents[owner], lenders, prefix)
        room = np.array([len(lenders[n].tokens) - prefix for n in able])
        borrowers = np.flatnonzero(anchors.document == owner)
        # More anchors than places to borrow from: places are used again, in turn.
        places = np.resize(evenly_spread(room.sum(), len(borrowers)), len(borrowers))
        which = np.searchsorted(np.cumsum(room), places, side="right")
        offset = places - (np.cumsum(room) - room)[which]
        for anchor, lender, first in zip(borrowers, which, offset, strict=True):
            ends[anchor] = (able[lender], int(first) + prefix + 1)
    return ends
