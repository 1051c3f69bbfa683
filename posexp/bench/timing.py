"""Calls that take turns, and what their times say about one another.

    round 1: A B    round 2: A B    ...      ratio of round r = seconds of B / seconds of A

Whatever slows the machine for longer than a round slows both, and cancels. The median over rounds
is reported with its quartiles; one slow round moves neither.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Call = Callable[[], object]

#: Fewer rounds have no spread; a slow cell overruns its budget for them.
MIN_ROUNDS = 3


@dataclass(frozen=True)
class Spread:
    """A sample by its median, quartiles and extremes."""

    median: float
    low: float  # first quartile
    high: float  # third quartile
    minimum: float
    maximum: float
    rounds: int

    @classmethod
    def of(cls, sample: Sequence[float]) -> Spread:
        """Quartiles by linear interpolation between the sorted values, as numpy does."""
        low, median, high = (
            statistics.quantiles(sample, n=4, method="inclusive") if len(sample) > 1 else sample * 3
        )
        return cls(median, low, high, min(sample), max(sample), len(sample))


def interleave(
    calls: Mapping[str, Call],
    rounds: int,
    budget: float,
    clock: Callable[[], float] = time.perf_counter,
    synchronize: Callable[[], None] = lambda: None,
) -> dict[str, list[float]]:
    """Seconds of each call in each round, after one call of each that is not counted.

    Ends after `rounds` rounds, or after the round in which `budget` seconds are spent, but not
    before `MIN_ROUNDS`. `synchronize` waits for a device that works on after a call returns.
    """
    for call in calls.values():
        call()
    synchronize()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    try:
        began = clock()
        for number in range(1, max(rounds, MIN_ROUNDS) + 1):
            for name, call in calls.items():
                start = clock()
                call()
                synchronize()
                seconds[name].append(clock() - start)
            if number >= MIN_ROUNDS and clock() - began >= budget:
                break
    finally:
        if collecting:
            gc.enable()
    return seconds


def ratio(seconds: Sequence[float], baseline: Sequence[float]) -> Spread:
    """The spread of the ratios of single rounds, which is not the ratio of two medians."""
    return Spread.of([a / b for a, b in zip(seconds, baseline, strict=True)])
