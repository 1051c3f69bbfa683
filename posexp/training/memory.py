"""How much memory training has taken, for the record."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

import torch


def peak_memory(accelerator: str) -> int:
    """Bytes that this process has held at most: on the GPU if it trains on one, else resident."""
    if accelerator == "gpu":
        return torch.cuda.max_memory_allocated()
    # Not ru_maxrss where it can be helped: on Linux it also holds what the parent had at the fork.
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
