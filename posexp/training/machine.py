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


def resolve_machine(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a job's config with accelerator, devices, threads and precision filled in.

    Raises `ValueError` for a value that is unknown or that this machine lacks.
    """
    resolved = deepcopy(dict(config))
    trainer = resolved["trainer"]
    for name, valid in (("precision", PRECISIONS), ("accelerator", ACCELERATORS)):
        if trainer[name] not in valid:
            raise ValueError(
                f"trainer.{name}={trainer[name]} is unknown{nearest(str(trainer[name]), valid)}; "
                f"valid: {', '.join(valid)}"
            )
    has_gpu = torch.cuda.is_available()
    if trainer["accelerator"] == "auto":
        trainer["accelerator"] = "gpu" if has_gpu else "cpu"
    if trainer["accelerator"] == "gpu":
        found = torch.cuda.device_count()
        if not has_gpu:
            raise ValueError("trainer.accelerator=gpu, but torch finds no GPU; use cpu or auto")
        if trainer["devices"] > found:
            raise ValueError(f"trainer.devices={trainer['devices']}, but there are {found} GPUs")
    if trainer["devices"] < 1:
        raise ValueError(f"trainer.devices must be at least 1, got {trainer['devices']}")
    if trainer["threads"] is None:
        trainer["threads"] = max(1, torch.get_num_threads() // _processes(trainer))
    if trainer["precision"] == "auto":
        trainer["precision"] = "bf16-mixed" if bf16_is_fast(trainer["accelerator"]) else "32-true"
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


def _processes(trainer: Mapping[str, Any]) -> int:
    return trainer["devices"] if trainer["accelerator"] == "cpu" else 1
