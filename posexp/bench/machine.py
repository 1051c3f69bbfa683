"""The machine and the libraries that the numbers belong to."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

#: What decides how fast a CPU multiplies matrices.
TELLING_FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile", "amx_bf16")
SMALLEST_NORMAL = 2.0**-126


def describe_machine(device: str) -> dict[str, Any]:
    """Plain values: processor, cores, threads, versions, and what else was running."""
    processor = _cpuinfo()
    found = {
        "processor": processor.get("model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "flags": [f for f in TELLING_FLAGS if f in processor.get("flags", "").split()],
        "threads": torch.get_num_threads(),
        "load_average": round(os.getloadavg()[0], 2),
        "flush_denormal": flushes_denormals(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "posexp": version("posexp"),
    }
    if device == "cuda":
        found["gpu"] = torch.cuda.get_device_name()
        found["cuda"] = torch.version.cuda
    return found


def flushes_denormals() -> bool:
    """Whether numbers below the smallest normal float32 become 0, as seen."""
    return (torch.tensor([SMALLEST_NORMAL]) * 0.5).item() == 0.0


def one_line(machine: dict[str, Any]) -> str:
    """The machine as a caption."""
    parts = [
        machine.get("gpu") or machine["processor"],
        f"{machine['cores']} cores",
        f"{machine['threads']} threads",
        " ".join(machine["flags"]),
        f"torch {machine['torch']}",
        f"flush-denormal {'on' if machine['flush_denormal'] else 'off'}",
        f"load {machine['load_average']} before",
    ]
    return ", ".join(part for part in parts if part)


def _cpuinfo() -> dict[str, str]:
    """The first processor of /proc/cpuinfo; nothing where there is no such file."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in lines}
