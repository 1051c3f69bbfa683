"""One training step as the trainer takes it, without Lightning around it.

Forward under autocast where the precision is bf16, summed loss, backward, gradients divided by the
number of tokens and clipped, AdamW and its schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from posexp.bench.timing import Call
from posexp.data.tokens import VOCABULARY
from posexp.training.module import summed_loss
from posexp.training.optimizer import make_optimizer, scale_gradients

#: Never reached; the cosine has to end somewhere.
MAX_STEPS = 1_000_000


def random_batch(rows: int, length: int, device: str) -> dict[str, Tensor]:
    """Inputs and next-token targets (B, L): the cost of a step does not depend on the text."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(VOCABULARY, (rows, length + 1), generator=generator).to(device)
    return {"inputs": drawn[:, :-1].contiguous(), "targets": drawn[:, 1:].contiguous()}


def training_step(
    model: nn.Module, config: Mapping[str, Any], batch: Mapping[str, Tensor], precision: str
) -> Call:
    """The step of `model`, (B, L) -> logits (B, L, V), with the optimizer of `conf/optimizer`."""
    optimizer, schedule = make_optimizer(model, config, MAX_STEPS)
    device_type = batch["inputs"].device.type

    def call() -> object:
        bf16 = precision == "bf16"
        with torch.autocast(device_type, torch.bfloat16, enabled=bf16):
            loss, tokens = summed_loss(model, batch)
        loss.backward()
        scale_gradients(model, 1 / tokens)
        if (limit := config["gradient_clip"]) is not None:
            nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        return loss

    return call
