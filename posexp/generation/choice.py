"""Which token comes next: the likeliest, or one that is drawn.

Shapes: B rows, V tokens to choose from.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from posexp.data.tokens import BOS
from posexp.model.init import stream

#: Logits (B, V) to the tokens chosen (B,).
Choice = Callable[[Tensor], Tensor]


def make_choice(
    temperature: float | None,
    top_k: int | None,
    seed: int | None,
    rows: int,
    tokens: int = BOS,
) -> Choice:
    """Greedy without a temperature, else drawn, from `tokens` tokens.

    Raises `ValueError` for what cannot be meant.
    """
    check_choice(temperature, top_k, seed)
    if temperature is None:
        return greedy
    if top_k is not None and not 1 <= top_k <= tokens:
        raise ValueError(f"--top-k must be from 1 to {tokens}, the number of tokens; got {top_k}")
    return Drawn(temperature, top_k, seed or 0, rows)


def check_choice(temperature: float | None, top_k: int | None, seed: int | None) -> None:
    """Raise `ValueError` for what cannot be meant whatever the tokens are."""
    if temperature is None:
        for flag, value in (("--top-k", top_k), ("--seed", seed)):
            if value is not None:
                raise ValueError(
                    f"{flag} {value} is for tokens that are drawn: give --temperature too, or "
                    "leave both out for the likeliest token"
                )
    elif not 0 < temperature < float("inf"):
        raise ValueError(
            f"--temperature must be positive, got {temperature:g}; leave it out for the likeliest "
            "token"
        )


def greedy(logits: Tensor) -> Tensor:
    """The likeliest token of each row."""
    return logits.argmax(dim=-1)


class Drawn:
    """A draw from softmax(logits / temperature), from the `top_k` likeliest alone if it is set.

    Each row draws from a stream of its own, keyed by (seed, row), on the CPU: a row's text depends
    neither on the other rows nor on the device.
    """

    def __init__(self, temperature: float, top_k: int | None, seed: int, rows: int) -> None:
        self.temperature = temperature
        self.top_k = top_k
        self.generators = [
            torch.Generator().manual_seed(stream(seed, "generate", row)) for row in range(rows)
        ]

    def __call__(self, logits: Tensor) -> Tensor:
        scaled = logits.cpu().double() / self.temperature
        if self.top_k is not None:
            least = scaled.topk(self.top_k, dim=-1).values[:, -1:]
            scaled = scaled.masked_fill(scaled < least, -torch.inf)
        drawn = [
            torch.multinomial(row, 1, generator=generator)
            for row, generator in zip(scaled.softmax(-1), self.generators, strict=True)
        ]
        return torch.cat(drawn).to(logits.device)
