"""The checks, in the order in which they run: from what others rest on to what rests on others."""

from posexp.testing.checks import (  # noqa: I001  (the order is meant)
    building,
    calls,
    declarations,
    configuration,
    copies,
    precision,
    sequence,
    visibility,
    rows,
    devices,
    layers,
    training,
    kernels,
    heads,
    execution,
    decoding,
)

__all__ = [
    "building",
    "calls",
    "configuration",
    "copies",
    "declarations",
    "decoding",
    "devices",
    "execution",
    "heads",
    "kernels",
    "layers",
    "precision",
    "rows",
    "sequence",
    "training",
    "visibility",
]
