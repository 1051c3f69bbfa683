"""Decoding: single tokens from a cache that already holds a row."""

from __future__ import annotations

import torch

from posexp.bench.step import random_batch
from posexp.bench.timing import Call
from posexp.model import Transformer
from posexp.model.cache import Cache
from posexp.model.layout import Layout

#: Tokens of one call: a single one is over too soon to be timed.
TOKENS = 16


@torch.no_grad()
def decoding(model: Transformer, length: int, precision: str) -> Call:
    """`TOKENS` tokens more, each in a pass of its own, after `length` at once; one row."""
    model.eval()
    device = model.embedding.weight.device
    tokens = random_batch(1, length, device.type)["inputs"]
    # Schemes that change with the length are timed as they are decoded in practice.
    cache = Cache(stale=True)

    def call() -> None:
        bf16 = precision == "bf16"
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            for _ in range(TOKENS):
                model(tokens[:, :1], cache=cache)

    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
        model(tokens, cache=cache)
    return call


def next_token(model: Transformer, length: int) -> Layout:
    """One query behind `length` keys in a cache."""
    positions = torch.arange(length + 1, device=model.embedding.weight.device)
    return Layout(positions[-1:], positions)
