"""What a job takes from the machine, resolved once per sweep and written into every config.

Equality bit for bit holds for the same device count, thread count and precision only, so a resumed
job uses what is recorded, not what it finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch

from posexp.registry import nearest

PRECISIONS = ("auto", "bf16-mixed", "32-true")
ACCELERATORS = ("auto", "cpu", "gpu")
STRATEGIES = ("auto", "ddp", "fsdp2")


def resolve_machine(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a job's config with accelerator, devices, threads and precision filled in.

    Raises `ValueError` for a value that is unknown, that does not go with another, or that this
    machine lacks.
    """
    resolved = deepcopy(dict(config))
    trainer = resolved["trainer"]
    for name, valid in (
        ("precision", PRECISIONS),
        ("accelerator", ACCELERATORS),
        ("strategy", STRATEGIES),
    ):
        if trainer[name] not in valid:
            raise ValueError(
                f"trainer.{name}={trainer[name]} is unknown{nearest(str(trainer[name]), valid)}; "
                f"valid: {', '.join(valid)}"
            )
    if trainer["accelerator"] == "auto":
        trainer["accelerator"] = "gpu" if torch.cuda.is_available() else "cpu"
    if trainer["devices"] < 1:
        raise ValueError(f"trainer.devices must be at least 1, got {trainer['devices']}")
    check_gpus(trainer)
    _check_strategy(trainer)
    if trainer["threads"] is None:
        trainer["threads"] = max(1, torch.get_num_threads() // _processes(trainer))
    if trainer["precision"] == "auto":
        trainer["precision"] = "bf16-mixed" if bf16_is_fast(trainer["accelerator"]) else "32-true"
    return resolved


def check_gpus(trainer: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a job is for more GPUs than there are."""
    if trainer["accelerator"] != "gpu":
        return
    if not torch.cuda.is_available():
        raise ValueError("trainer.accelerator=gpu, but torch finds no GPU; use cpu or auto")
    found, wanted = torch.cuda.device_count(), trainer["devices"]
    if wanted > found:
        raise ValueError(f"trainer.devices={wanted}, but there are {found} GPUs")


def other_machine(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the config of a job that will run on a machine of which nothing is known here.

    Raises `ValueError` for a value that is unknown, or left to be found out.
    """
    trainer = config["trainer"]
    left_open = [
        f"trainer.{name}"
        for name in ("accelerator", "threads", "precision")
        if trainer[name] in (None, "auto")
    ]
    if left_open:
        raise ValueError(
            f"the jobs run on another machine: say {', '.join(left_open)}, as in "
            "trainer.accelerator=gpu trainer.threads=8 trainer.precision=bf16-mixed"
        )
    # How many GPUs there are is not asked: they would be those of this machine.
    asked = "cpu" if trainer["accelerator"] == "gpu" else trainer["accelerator"]
    resolved = resolve_machine({**config, "trainer": {**trainer, "accelerator": asked}})
    resolved["trainer"]["accelerator"] = trainer["accelerator"]
    return resolved


def bf16_is_fast(accelerator: str) -> bool:
    """Whether bfloat16 autocast pays: GPUs with bfloat16 units, and CPUs with AMX tiles.

    A CPU with AVX512-BF16 alone multiplies faster, but autocast's casts cost more than that at the
    sizes trained on CPUs: measured on an AMD EPYC (Zen 4), 4 layers, D = 128, float32 was faster.
    """
    if accelerator == "gpu":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_amx_tile_supported()


def use_machine(config: Mapping[str, Any]) -> None:
    """Apply a resolved config's thread count to this process; call before any tensor work."""
    # Before worker threads exist: denormals make float32 ALiBi several times slower.
    torch.set_flush_denormal(True)
    torch.set_num_threads(config["trainer"]["threads"])


def _check_strategy(trainer: Mapping[str, Any]) -> None:
    strategy = trainer["strategy"]
    if strategy != "auto" and trainer["devices"] == 1:
        raise ValueError(
            f"trainer.strategy={strategy} is for several devices, and trainer.devices=1; use "
            "trainer.strategy=auto, or trainer.devices=2 or more"
        )
    if trainer["sharded_checkpoints"] and strategy != "fsdp2":
        raise ValueError(
            f"trainer.sharded_checkpoints=true with trainer.strategy={strategy}: only fsdp2 shards "
            "the weights; leave it out, or use trainer.strategy=fsdp2"
        )


def _processes(trainer: Mapping[str, Any]) -> int:
    return trainer["devices"] if trainer["accelerator"] == "cpu" else 1
