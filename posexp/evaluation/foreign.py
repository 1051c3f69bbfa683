"""The foreign prefix: what a model gets from far tokens, apart from what far positions do to it.

A window longer than the training length T keeps its last T tokens; the older ones come from
another document. A_foreign(L) - A(L) is the use of their content, A_foreign(L) - A(T) the damage
that unseen positions do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posexp.data.documents import Document, MappedDocuments, in_chunks, lengths
from posexp.data.windows import window
from posexp.evaluation.anchored import anchored_windows
from posexp.evaluation.anchors import Anchors, usable_documents
from posexp.evaluation.losses import LossRunner
from posexp.evaluation.places import Room, count_places, evenly_spread, find_places


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
    own = anchored_windows(runner, documents, anchors, length)

    def foreign_window(n: int) -> tuple[np.ndarray, np.ndarray]:
        inputs, targets = own(n)
        lender, end = ends[n]
        prefix, _ = window(
            lenders[lender].tokens, end - borrowed, borrowed, runner.bos, runner.token
        )
        return np.concatenate([prefix, inputs[borrowed:]]), targets

    return runner.losses(foreign_window, len(anchors), length)


def check_foreign(
    documents: Sequence[Document], lenders: Sequence[Document], *, longest: int, prefix: int
) -> None:
    """Raise `ValueError` where a document that is scored finds no other to borrow from."""
    usable_documents(documents, longest)
    able = count_places(lengths(lenders), lambda sizes: sizes > prefix)
    if able > 1:  # one of them is another document, whichever is scored
        return
    first = 0
    for chunk in in_chunks(lengths(documents)):
        for n in np.flatnonzero(chunk > longest) + first:
            _room_of(documents, int(n), lenders, prefix)
        first += len(chunk)


def _room_of(
    documents: Sequence[Document], owner: int, lenders: Sequence[Document], prefix: int
) -> tuple[Room, int, int]:
    """How many prefixes each lender has for a document, their sum, and the document among lenders.

    A document in both is the one lender without any; -1 where it is none.
    """
    document = documents[owner]
    own = _index_of(document, owner, lenders)

    def room(sizes: np.ndarray) -> np.ndarray:
        return np.maximum(0, sizes - prefix)

    total = count_places(lengths(lenders), room)
    if own >= 0:
        total -= max(0, len(lenders[own]) - prefix)
    if not total:
        others = ", ".join(f"{d.id} ({len(d.tokens)} tokens)" for d in lenders[:5]) or "none"
        raise ValueError(
            f"the foreign prefix needs {prefix + 1} tokens of a document other than "
            f"{document.id}; the foreign split has: {others}. Set evaluation.foreign_split to "
            "another split, or to null to leave this control out"
        )
    return room, total, own


def _index_of(document: Document, owner: int, lenders: Sequence[Document]) -> int:
    if not isinstance(lenders, MappedDocuments):
        return next((n for n, other in enumerate(lenders) if other.id == document.id), -1)
    # Splits keep their order, and no two documents have one id.
    return owner if owner < len(lenders) and lenders[owner].id == document.id else -1


def prefix_ends(
    documents: Sequence[Document], lenders: Sequence[Document], anchors: Anchors, prefix: int
) -> list[tuple[int, int]]:
    """For each anchor a lender and where its prefix ends, evenly spread over the lenders.

    Every prefix of up to `prefix` tokens lies in its lender, and so does the token before it.
    """
    ends: list[tuple[int, int]] = [(0, 0)] * len(anchors)
    for owner in np.unique(anchors.document):
        room, total, own = _room_of(documents, int(owner), lenders, prefix)
        borrowers = np.flatnonzero(anchors.document == owner)
        spread = evenly_spread(total, len(borrowers))
        if own >= 0:  # the places of the document itself are passed over
            before = count_places(lengths(lenders)[:own], room)
            spread = spread + (spread >= before) * max(0, len(lenders[own]) - prefix)
        found = find_places(lengths(lenders), room, spread)
        # More anchors than places to borrow from: places are used again, in turn.
        which, offset = (np.resize(part, len(borrowers)) for part in found)
        for anchor, lender, first in zip(borrowers, which, offset, strict=True):
            ends[anchor] = (int(lender), int(first) + prefix + 1)
    return ends
