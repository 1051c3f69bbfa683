"""One point of the memory table, in a process that has done nothing else.

`python -m posexp.bench.memory_child` reads one JSON object from stdin (config, layer, length,
precision, device, threads) and prints the bytes by which attention's forward and backward raised
the peak.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from posexp.bench.attention import Inputs, attention_call
from posexp.bench.models import DTYPES, with_scheme
from posexp.bench.timing import Call
from posexp.training.machine import use_machine

#: Tokens of a first call, so that libraries' own buffers are not counted.
WARM_LENGTH = 64
SELF = Path("/proc/self")


def peak_bytes(call: Call, device: str) -> int:
    """How far `call` raises the process's peak above what it held before."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        return torch.cuda.max_memory_allocated() - before
    gc.collect()  # what it gave back during the call would be missing from the peak
    with suppress(OSError):
        (SELF / "clear_refs").write_text("5")  # the peak starts again from what is held now
    before = _resident("VmRSS")
    call()
    return _resident("VmHWM") - before


def _resident(field: str) -> int:
    """`field` of /proc/self/status in bytes; where there is none, the peak since the start."""
    # Not ru_maxrss where it can be helped: on Linux it also holds what the parent had at the fork.
    with suppress(OSError):
        for line in (SELF / "status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(point: Mapping[str, Any]) -> int:
    """Bytes for one row of `length` tokens."""
    dtype, device = DTYPES[point["precision"]], point["device"]

    def call(length: int) -> Call:
        model = with_scheme(point["config"], length, device)
        inputs = Inputs.random(model.dims, 1, length, dtype, device)
        return attention_call(model, point["layer"], inputs)

    call(min(WARM_LENGTH, point["length"]))()
    return peak_bytes(call(point["length"]), device)


def main() -> None:
    """Read a point, print its bytes."""
    with suppress(OSError):
        # Where memory runs out, this process is the one to go.
        (SELF / "oom_score_adj").write_text("1000")
    point = json.load(sys.stdin)
    use_machine({"trainer": {"threads": point["threads"]}})
    print(measure(point))


if __name__ == "__main__":
    main()
