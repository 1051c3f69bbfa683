"""Peak memory of a point, asked of a fresh process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def peak_memory(point: Mapping[str, Any]) -> int:
    """Bytes that attention's forward and backward need above their inputs, for one row.

    `point` is what `memory_child` reads. Raises `RuntimeError` with the child's last line.
    """
    command = [sys.executable, "-m", "posexp.bench.memory_child"]
    child = subprocess.run(command, input=json.dumps(point), capture_output=True, text=True)
    if child.returncode == -signal.SIGKILL:
        raise MemoryError("the process was killed: out of memory")
    if child.returncode != 0:
        said = child.stderr.strip().splitlines() or [f"exit code {child.returncode}"]
        raise RuntimeError(said[-1])
    return int(child.stdout.split()[-1])
