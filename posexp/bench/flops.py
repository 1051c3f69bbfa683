"""Arithmetic by formula, and what the machine's matrix units can do, measured.

Only the model's own products are counted, forward once and backward twice: a kernel that computes
something again, or a scheme that adds terms of its own, gets no credit for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn

from posexp.model import Transformer

#: Sides of the square products whose best rate counts as the peak.
SIDES = {"cpu": (1024, 2048), "cuda": (4096, 8192)}
REPEATS = 6


def step_flops(model: Transformer, rows: int, length: int) -> int:
    """Floating-point operations of a training step on `rows` x `length` tokens.

    6 N per token for the N weights of the linear layers and the head, and 6 for each product of a
    layer between tokens: with softmax attention 2 H d for each visible pair (q k^T and p v).
    """
    weights = sum(m.weight.numel() for m in model.modules() if isinstance(m, nn.Linear))
    if model.head is None:
        weights += model.embedding.weight.numel()
    products = weights * length
    for number, block in enumerate(model.blocks):
        scheme = model.scheme.for_layer(number)
        pairs = visible_pairs(length, scheme.window, scheme.chunk)
        products += block.attention.products(model.config, length, pairs)
    return 6 * rows * products


def visible_pairs(length: int, window: int | None, chunk: int | None = None) -> int:
    """Pairs (query, key) of a causal row, in chunks and with `window` keys of a query at most."""
    if chunk is not None:
        whole, rest = divmod(length, chunk)
        return whole * visible_pairs(chunk, window) + visible_pairs(rest, window)
    width = length if window is None else min(window, length)
    return width * (width + 1) // 2 + (length - width) * width


def matrix_peak(dtype: torch.dtype, device: str, synchronize: Callable[[], None]) -> float:
    """The highest rate of a square matrix product seen, in operations a second."""
    best = 0.0
    for side in SIDES[device]:
        a, b = torch.randn(2, side, side, device=device).to(dtype)
        for _ in range(REPEATS):
            synchronize()
            began = time.perf_counter()
            a @ b
            synchronize()
            best = max(best, 2 * side**3 / (time.perf_counter() - began))
    return best
