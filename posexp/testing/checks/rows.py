"""Batches: padding, batch mates, and positions given once or for each row."""

from __future__ import annotations

import torch

from posexp.model.kernels.choice import IllegalKernelError
from posexp.testing.check import check
from posexp.testing.checks.declarations import LONGEST
from posexp.testing.compare import explained, same
from posexp.testing.outcomes import outcomes
from posexp.testing.subject import Subject, logits


@check(
    needs=("padding_is_invisible", "pieces_equal_the_full_pass", "max_length_as_declared"),
)
def left_padding_changes_nothing(subject: Subject) -> None:
    """Six tokens give the same logits alone and behind three pads, in every kernel."""
    tokens = subject.tokens(1, 6)
    padded = torch.cat((torch.zeros(1, 3, dtype=torch.long), tokens), dim=1)
    real = torch.arange(9)[None] >= 3
    for kernel in subject.kernels():
        try:
            expected = logits(subject.model(kernel), tokens)
            found = logits(subject.model(kernel), padded, real=real)
        except IllegalKernelError:
            continue
        same(
            found[:, 3:],
            expected,
            f"6 tokens behind 3 pads, against the 6 alone (kernel {kernel})",
            "Positions count real tokens, and those of a padded row are (B, T): does the scheme "
            "use the length or the place of a token instead?",
        )
    limit = subject.model().max_length
    if limit is not None and limit <= LONGEST:
        _full_length_behind_pads(subject, limit)


def _full_length_behind_pads(subject: Subject, length: int) -> None:
    tokens = subject.tokens(1, length)
    expected = logits(subject.model(), tokens)
    padded = torch.cat((torch.zeros(1, 3, dtype=torch.long), tokens), dim=1)
    real = torch.arange(length + 3)[None] >= 3
    with explained(f"all {length} positions behind 3 pads", "Pads are no positions."):
        found = logits(subject.model(), padded, real=real)
    what = f"all {length} positions behind 3 pads, against them alone"
    same(found[:, 3:], expected, what, "Pads are no positions.")


@check(needs=("left_padding_changes_nothing",))
def batch_mates_do_not_matter(subject: Subject) -> None:
    """Each row of a batch of two gives what it gives alone, whether or not a row is padded."""
    cause = (
        "Does a row see another's positions or values? Positions may be (B, T) with rows that "
        "differ: no positions[0], no mean over the batch."
    )
    tokens = subject.tokens(2, 10)
    both = logits(subject.model(), tokens)
    for row in range(2):
        alone = logits(subject.model(), tokens[row : row + 1])
        same(both[row : row + 1], alone, f"row {row} of a batch of two, against it alone", cause)
    real = torch.ones(2, 10, dtype=torch.bool)
    real[0, :2] = False
    both = logits(subject.model(), tokens, real=real)
    for row, pads in ((0, 2), (1, 0)):
        alone = logits(subject.model(), tokens[row : row + 1, pads:])
        what = f"row {row} beside a row of another length, against it alone"
        same(both[row : row + 1, pads:], alone, what, cause)


@check(needs=("left_padding_changes_nothing",))
def equal_rows_of_positions_equal_one(subject: Subject) -> None:
    """Positions (B, T) with equal rows give what positions (T,) give."""
    cause = "Does a method treat positions of two axes differently, or sum over their rows?"
    positions = torch.arange(2, 12)
    rows = positions.repeat(2, 1)
    one = outcomes(subject.scheme(), subject.dims, positions)
    for (method, layer), found in outcomes(subject.scheme(), subject.dims, rows).items():
        expected = one[method, layer].expand_as(found)
        same(found, expected, f"{method} (layer {layer}) for (B, T) and (T,)", cause, 1e-6)
    tokens = subject.tokens(2, 10)
    expected = logits(subject.model(), tokens, positions=positions)
    found = logits(subject.model(), tokens, positions=rows)
    same(found, expected, "the logits for positions (B, T) and (T,)", cause)
