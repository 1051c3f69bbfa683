"""The BOS rule, in one place for training and evaluation: what a window of a document is.

x is a document of N tokens, s the index of a window's first target, L its length. The targets are
x[s .. s+L-1] under every rule, so that rules are compared on the same targets. Input i is what
stands before target i; the rules differ in what stands before the first:

| bos      | before the first target                                | first s |
|----------|--------------------------------------------------------|---------|
| window   | always BOS, instead of x[s-1]; counted in L            | 0       |
| document | x[s-1], or BOS at the start: a stream BOS + document   | 0       |
| none     | x[s-1]                                                 | 1       |

BOS is never a target. It decides what NoPE can learn, so the rule is recorded with every result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posexp.data.tokens import BOS
from posexp.registry import nearest

BOS_RULES = ("window", "document", "none")


def window(
    tokens: np.ndarray, start: int, length: int, bos: str = "window", token: int = BOS
) -> tuple[np.ndarray, np.ndarray]:
    """The inputs and targets (length,) int64 of the window whose first target is tokens[start].

    `token` is the id of BOS.

    Raises `ValueError` for a window that leaves the document, and for an unknown rule.
    """
    first = first_start(bos)
    if not (first <= start and 1 <= length <= len(tokens) - start):
        raise ValueError(
            f"a window of {length} targets from {start} is not inside a document of "
            f"{len(tokens)} tokens; with bos={bos} the first target is {first} or later"
        )
    targets = np.array(tokens[start : start + length], dtype=np.int64)
    inputs = np.empty_like(targets)
    inputs[1:] = targets[:-1]
    inputs[0] = token if bos == "window" or start == 0 else tokens[start - 1]
    return inputs, targets


def first_start(bos: str) -> int:
    """The index of the first token of a document that can be a target: 0, or 1 without BOS.

    Raises `ValueError` for an unknown rule.
    """
    if bos not in BOS_RULES:
        close = nearest(bos, BOS_RULES) if isinstance(bos, str) else ""
        raise ValueError(f"there is no bos rule {bos!r}{close}; it is {', '.join(BOS_RULES)}")
    return 0 if bos != "none" else 1


def count_windows(n_tokens: Any, length: int, bos: str) -> Any:
    """How many windows of `length` targets a document of `n_tokens` holds, at every offset.

    For an array of documents an array.
    """
    return np.maximum(0, n_tokens - first_start(bos) - length + 1)
