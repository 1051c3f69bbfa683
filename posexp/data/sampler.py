"""Which samples a step takes, as a pure function of the step: no epochs and no sampler state.

n = step * batch_size + index in the batch. Ranks and micro-batches only divide the indices of a
step among them, so the data depend neither on the number of devices nor on where a run resumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch.utils.data import Sampler


class StepSampler(Sampler[list[int]]):
    """A batch sampler that yields one micro-batch of one rank at a time, as a list of n.

    Step k takes n = k * batch_size .. (k + 1) * batch_size - 1. Its micro-batch m takes the m-th
    of `accumulate` equal runs of these, and in it rank r the r-th of `world_size` equal runs.
    `first_step` is where a resumed run goes on: the same lists as an uninterrupted run from there.

    Raises `ValueError` if batch_size does not divide by accumulate * world_size, and for a count
    that is out of range.
    """

    def __init__(
        self,
        first_step: int,
        max_steps: int,
        batch_size: int,
        accumulate: int = 1,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        check_batch(batch_size, accumulate, world_size)
        if not 0 <= rank < world_size:
            raise ValueError(f"the rank must be 0 to {world_size - 1}, not {rank}")
        if not 0 <= first_step <= max_steps:
            raise ValueError(f"first_step must be 0 to max_steps = {max_steps}, not {first_step}")
        self.first_step = first_step
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.accumulate = accumulate
        self.rank = rank
        self.world_size = world_size

    def __len__(self) -> int:
        return (self.max_steps - self.first_step) * self.accumulate

    def __iter__(self) -> Iterator[list[int]]:
        size = self.batch_size // (self.accumulate * self.world_size)
        for step in range(self.first_step, self.max_steps):
            for micro_batch in range(self.accumulate):
                part = micro_batch * self.world_size + self.rank
                first = step * self.batch_size + part * size
                yield list(range(first, first + size))


def check_batch(batch_size: int, accumulate: int, world_size: int) -> None:
    """Raise `ValueError` unless the batch divides evenly into micro-batches on every device."""
    for name, value in (
        ("batch_size", batch_size),
        ("accumulate", accumulate),
        ("the number of devices", world_size),
    ):
        if value < 1:
            raise ValueError(f"{name} must be 1 or more, not {value}")
    parts = accumulate * world_size
    below = batch_size // parts * parts
    if below != batch_size:
        nearest = f"{below} or {below + parts}" if below else f"{parts}"
        raise ValueError(
            f"batch_size = {batch_size} does not divide by accumulate x devices = "
            f"{accumulate} x {world_size} = {parts}; the nearest that does is {nearest}"
        )
