"""Ranks that share ties, so that the order of rows never decides one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

# Two losses that print alike are a tie: three decimals of a bit per byte.
DECIMALS = 3


def ranks(losses: Mapping[Hashable, float | None]) -> dict[Hashable, int]:
    """The rank of each loss, 1 = lowest; equal losses share the better rank ("1224").

    None stands for a loss that diverged: all of those share the last rank.
    """
    keys = {
        name: float("inf") if loss is None else round(loss, DECIMALS)
        for name, loss in losses.items()
    }
    return {name: 1 + sum(other < key for other in keys.values()) for name, key in keys.items()}


def mean_reciprocal_rank(tables: list[Mapping[Hashable, int]], name: Hashable) -> float | None:
    """Mean of 1/rank of `name` over `tables`, 0 where it has none; None without tables."""
    if not tables:
        return None
    return sum(1 / table[name] if name in table else 0.0 for table in tables) / len(tables)
