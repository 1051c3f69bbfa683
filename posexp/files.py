"""Files that others read: written whole or not at all, and JSON strict.

NaN and the infinities become null, on the way in and on the way out.

Python's `json` reads and writes the bare words NaN and Infinity, which no other parser has to
accept, and reads 1e999 as infinity.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def finite(value: Any) -> Any:
    """`value` with every number that is not finite, at any depth, replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def dump_json(value: Any) -> str:
    """Strict JSON text, indented, ending in a newline."""
    return json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path, keep_nan: bool = False) -> dict[str, Any] | None:
    """The JSON object in `path`, or None where there is no such file.

    `keep_nan` leaves numbers that are not finite as they are, so that the caller can tell a value
    that diverged from one that is missing. Raises `ValueError` that names the file where it is not
    one JSON object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold one JSON object, it holds a {type(value).__name__}")
    return value if keep_nan else finite(value)


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write strict JSON: null for every number that is not finite."""
    replace(path, dump_json(value).encode())


def replace(path: Path, content: bytes) -> None:
    """Write `content`, whole or not at all: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    os.replace(partial, path)
