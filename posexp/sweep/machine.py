"""The machine that a sweep began on: equality bit for bit is promised there and nowhere else."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch


def describe_machine() -> dict[str, Any]:
    """What can change the last bit of a sum."""
    gpus = range(torch.cuda.device_count())
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "gpus": ", ".join(torch.cuda.get_device_name(i) for i in gpus) or "none",
        "torch": str(torch.__version__),
    }


def changed_machine(then: Mapping[str, Any]) -> list[str]:
    """What is different here, `cores was 8 and is 2`; nothing where nothing was recorded."""
    now = describe_machine()
    return [
        f"{key} was {was} and is {now[key]}"
        for key, was in then.items()
        if key in now and now[key] != was
    ]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
