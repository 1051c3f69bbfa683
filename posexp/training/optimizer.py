"""AdamW with two parameter groups, and warm-up and cosine as one schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from posexp.scheme import PositionScheme
from posexp.training.sharding import by_kind


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Every parameter in exactly one of two groups, decayed or not.

    Decayed: the weight matrices of linear layers. Not decayed: embeddings, norms, biases, and
    everything that a position scheme owns (decay would pull its tables towards "no position").
    Under FSDP2 these last are a third group: the optimizer takes sharded or whole parameters.
    """
    decayed, plain = [], []
    scheme_owned = {
        id(p) for m in model.modules() if isinstance(m, PositionScheme) for p in m.parameters()
    }
    linear = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}
    for parameter in model.parameters():
        decays = id(parameter) in linear and id(parameter) not in scheme_owned
        (decayed if decays else plain).append(parameter)
    return [
        {"params": decayed, "weight_decay": weight_decay},
        *({"params": kind, "weight_decay": 0.0} for kind in by_kind(plain)),
    ]


def learning_rate_factor(
    step: int, *, warmup_steps: int, max_steps: int, final_fraction: float
) -> float:
    """The factor on the peak learning rate at `step`, counted from 0.

    (step + 1) / warmup during warm-up, then a cosine from 1 to `final_fraction` at `max_steps`. A
    warm-up as long as the run or longer leaves no cosine.
    """
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    progress = min(1.0, (step - warmup_steps) / max(1, max_steps - warmup_steps))
    return final_fraction + (1 - final_fraction) * 0.5 * (1 + math.cos(math.pi * progress))


def make_optimizer(
    model: nn.Module, config: Mapping[str, Any], max_steps: int
) -> tuple[AdamW, LambdaLR]:
    """AdamW and its schedule from `conf/optimizer`. Raises `ValueError` for impossible values."""
    check_optimizer(config)
    optimizer = AdamW(
        parameter_groups(model, config["weight_decay"]),
        lr=config["lr"],
        betas=tuple(config["betas"]),
        eps=config["eps"],
        fused=True,
    )

    def factor(step: int) -> float:
        return learning_rate_factor(
            step,
            warmup_steps=config["warmup_steps"],
            max_steps=max_steps,
            final_fraction=config["final_lr_fraction"],
        )

    return optimizer, LambdaLR(optimizer, factor)


def check_optimizer(config: Mapping[str, Any]) -> None:
    """Raise `ValueError` for values that cannot train."""
    if not config["lr"] > 0:
        raise ValueError(f"optimizer.lr must be above 0, got {config['lr']}")
    for name in ("weight_decay", "warmup_steps"):
        if config[name] < 0:
            raise ValueError(f"optimizer.{name} must not be negative, got {config[name]}")
    if not 0 <= config["final_lr_fraction"] <= 1:
        raise ValueError(
            f"optimizer.final_lr_fraction must be in [0, 1], got {config['final_lr_fraction']}"
        )
    betas = config["betas"]
    if len(betas) != 2 or not all(0 <= beta < 1 for beta in betas):
        raise ValueError(f"optimizer.betas must be two numbers in [0, 1), got {betas}")
    clip = config["gradient_clip"]
    if clip is not None and clip <= 0:
        raise ValueError(f"optimizer.gradient_clip must be above 0 or null, got {clip}")


def scale_gradients(model: nn.Module, factor: torch.Tensor) -> None:
    """Multiply every gradient by `factor` in place."""
    for gradients in by_kind(p.grad for p in model.parameters() if p.grad is not None):
        torch._foreach_mul_(gradients, factor)
