"""Tokens one after the other, from a cache.

Shapes: B rows, T tokens of the longest prompt, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from posexp.data.tokenizer import BYTES, Tokenizer
from posexp.generation.choice import Choice
from posexp.model import Cache


@torch.inference_mode()
def decode(
    model: Callable[..., Tensor],
    prompts: Sequence[np.ndarray],
    choose: Choice,
    steps: int,
    cache: Cache,
    device: torch.device | str = "cpu",
    tokenizer: Tokenizer = BYTES,
) -> Iterator[Tensor]:
    """The next token (B,) of every prompt, `steps` times. Prompts may differ in length.

    `model` takes tokens (B, T), `real` and `cache`, and gives logits (B, T, V). Only tokens of
    `tokenizer` are chosen, and never BOS: no model learns to predict it.
    """
    tokens, real = padded(prompts, device)
    logits = model(tokens, real=real, cache=cache)
    for step in range(steps):
        chosen = choose(_choosable(logits[:, -1], tokenizer))
        yield chosen
        if step + 1 < steps:
            logits = model(chosen[:, None], cache=cache)


def _choosable(logits: Tensor, tokenizer: Tokenizer) -> Tensor:
    last = tokenizer.vocabulary - 1
    if tokenizer.bos == last:
        return logits[:, :last]
    logits = logits[:, : last + 1].clone()
    logits[:, tokenizer.bos] = -torch.inf
    return logits


def padded(prompts: Sequence[np.ndarray], device: torch.device | str) -> tuple[Tensor, Tensor]:
    """Tokens (B, T) with padding on the left, and which of them are real; None if all are."""
    longest = max(len(prompt) for prompt in prompts)
    tokens = np.zeros((len(prompts), longest), dtype=np.int64)
    real = np.zeros(tokens.shape, dtype=bool)
    for row, prompt in enumerate(prompts):
        start = longest - len(prompt)
        tokens[row, start:], real[row, start:] = prompt, True
    if real.all():
        return torch.from_numpy(tokens).to(device), None
    return torch.from_numpy(tokens).to(device), torch.from_numpy(real).to(device)
