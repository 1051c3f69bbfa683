"""Comparing tensors with words: what was measured, and what is likely to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from posexp.testing.check import CheckFailure, NotApplicable

#: Absolute, for float32 logits of unit variance.
TOLERANCE = 1e-5
#: What the same logits may differ by when they are computed in another order; more is an effect.
NOISE = 1e-4


def gap(found: Tensor, expected: Tensor) -> float:
    """The largest absolute difference; NaN where either is NaN."""
    return (found.double() - expected.double()).abs().max().item()


def same(
    found: Tensor, expected: Tensor, what: str, cause: str, tolerance: float = TOLERANCE
) -> None:
    """Raise `CheckFailure` unless both are equal within `tolerance`."""
    if found.shape != expected.shape:
        shapes = f"{tuple(found.shape)} instead of {tuple(expected.shape)}"
        raise CheckFailure(f"{what}: the shape is {shapes}. {cause}")
    measured = gap(found, expected)
    if not measured <= tolerance:  # NaN is no agreement
        raise CheckFailure(f"{what}: off by {measured:.3g}, allowed {tolerance:g}. {cause}")


def holds(condition: bool, message: str) -> None:
    """Raise `CheckFailure` with `message` unless `condition`."""
    if not condition:
        raise CheckFailure(message)


@contextmanager
def explained(what: str, cause: str) -> Iterator[None]:
    """Turn an exception of the scheme into a `CheckFailure` that says what was being done."""
    try:
        yield
    except (CheckFailure, NotApplicable):
        raise
    except Exception as error:
        raise CheckFailure(f"{what} raised {in_a_line(error)}. {cause}") from error


def in_a_line(error: Exception) -> str:
    """An exception in one line: its kind, and the first line that says something."""
    lines = [line.strip() for line in str(error).splitlines()]
    while len(lines) > 1 and lines[0].endswith(":"):  # a heading
        lines.pop(0)
    return ": ".join(filter(None, (type(error).__name__, *lines[:1]))).rstrip(".")
