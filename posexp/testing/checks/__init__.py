"""The checks, in the order in which they run: from what others rest on to what rests on others."""

from posexp.testing.checks import (  # noqa: I001  (the order is meant)
    building,
    calls,
    declarations,
    precision,
    sequence,
    visibility,
    rows,
    devices,
    layers,
    training,
    kernels,
    execution,
)

__all__ = [
    "building",
    "calls",
    "declarations",
    "devices",
    "execution",
    "kernels",
    "layers",
    "precision",
    "rows",
    "sequence",
    "training",
    "visibility",
]
