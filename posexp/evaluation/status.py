"""Whether a figure could be measured, and if not, why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posexp.evaluation.losses import bits_per_byte, out_of_memory, per_byte
from posexp.evaluation.statistics import standard_error


@dataclass(frozen=True)
class Measured:
    """`losses` in nats under a status; None where nothing ran.

    ok
        Every loss is finite.
    undefined
        The scheme has no such position, and is never clamped to those that it has.
    memory
        One window did not fit.
    diverged
        A loss is not finite.
    """

    status: str
    losses: Any = None

    @property
    def ok(self) -> bool:
        """Whether the losses may be averaged."""
        return self.status == "ok"


def measure(model: object, length: int, losses: Callable[[], Any]) -> Measured:
    """Run `losses`, which gives an array or a tuple of them, unless `model` ends before `length`.

    The number of positions that a model defines is its `max_length`; None or absent is no limit.
    """
    limit = getattr(model, "max_length", None)
    if limit is not None and length > limit:
        return Measured("undefined")
    try:
        found = losses()
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        return Measured("memory")
    arrays = found if isinstance(found, tuple) else (found,)
    finite = all(np.isfinite(array).all() for array in arrays)
    return Measured("ok" if finite else "diverged", found)


def figure_row(
    length: int,
    measured: Measured,
    baseline: Measured,
    documents: np.ndarray,
    sizes: np.ndarray | None = None,
) -> dict[str, Any]:
    """Bits per byte of (anchors, S) losses, standard error, and gain A(T) - A(L) over `baseline`.

    Null where either could not be measured. `documents` (anchors,) says which each belongs to;
    `sizes` (anchors, S) are the bytes of the targets, one each if not given.
    """
    bits = error = gain = None
    if measured.ok:
        sizes = np.ones_like(measured.losses, dtype=np.int64) if sizes is None else sizes
        bits = bits_per_byte(measured.losses, sizes.sum())
        error = standard_error(per_byte(measured.losses, sizes) / np.log(2), documents)
        if baseline.ok:
            gain = bits_per_byte(baseline.losses, sizes.sum()) - bits
    return {
        "length": length,
        "status": measured.status,
        "bits_per_byte": bits,
        "standard_error": error,
        "gain": gain,
    }
