"""Copies: in memory and on disk, each complete and independent."""

from __future__ import annotations

import copy
import io

import torch

from posexp.testing.check import check
from posexp.testing.checks.declarations import FOUNDATIONS
from posexp.testing.compare import explained, same
from posexp.testing.subject import Subject, logits


@check(needs=FOUNDATIONS)
def deep_copy_is_independent(subject: Subject) -> None:
    """A deep copy computes the same, and shares nothing with the original."""
    cause = (
        "Is a function kept that closes over self, or a reference to another module? A copy keeps "
        "it, and with it the original's tensors. Write a method instead."
    )
    tokens = subject.tokens(2, 12)
    original = subject.model()
    with explained("copy.deepcopy", "Hold only modules, tensors and plain values."):
        twin = copy.deepcopy(original)
    expected = logits(original, tokens)
    same(logits(twin, tokens), expected, "the logits of a deep copy", cause, 1e-6)
    for changed, other, what in (
        (twin, original, "the original's logits after its copy's parameters were changed"),
        (original, copy.deepcopy(original), "a copy's logits after the original was changed"),
    ):
        with torch.no_grad():
            for parameter in changed.scheme.parameters():
                parameter += 1.0
        same(logits(other, tokens), expected, what, cause, 1e-6)


@check(needs=FOUNDATIONS)
def state_dict_round_trips(subject: Subject) -> None:
    """A state dict, written and loaded with weights_only, makes a fresh model the same."""
    tokens = subject.tokens(2, 12)
    used = subject.model()
    expected = logits(used, tokens)
    file = io.BytesIO()
    with explained(
        "torch.save of the state dict, and torch.load(weights_only=True),",
        "A checkpoint holds tensors and plain values: does get_extra_state give something else?",
    ):
        torch.save(used.state_dict(), file)
        file.seek(0)
        state = torch.load(file, weights_only=True)
    cause = "Is a parameter or a buffer made in the first call? Make all of them in __init__."
    fresh = subject.model(seed=1)
    with explained("loading the state dict of a used model into a fresh one", cause):
        fresh.load_state_dict(state)
    what = "the logits of a fresh model that loaded a state dict"
    cause = "Does the result depend on something that is in no state dict?"
    same(logits(fresh, tokens), expected, what, cause, 1e-6)
