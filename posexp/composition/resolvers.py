"""The functions that a config may call in `${...}`."""

from __future__ import annotations

from math import prod

from omegaconf import OmegaConf


def mul(*factors: float) -> float:
    """The product of numbers: `${mul:2,3}` is 6. Raises `ValueError` for anything else."""
    for factor in factors:
        if isinstance(factor, bool) or not isinstance(factor, int | float):
            raise ValueError(f"mul multiplies numbers, got {factor!r}")
    return prod(factors)


def register_resolvers() -> None:
    """Make the resolvers known to OmegaConf; harmless when repeated."""
    OmegaConf.register_new_resolver("mul", mul, replace=True)
