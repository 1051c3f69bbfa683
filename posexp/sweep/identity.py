"""What makes two runs the same job: the whole resolved config and the version of every plugin."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from posexp.files import finite
from posexp.training.plugins import record_plugins


def identify(config: Mapping[str, Any]) -> dict[str, Any]:
    """`plugins`, name -> `distribution version`, and `config_hash`, SHA-256 of it and `config`."""
    found = record_plugins([config])
    plugins = {
        name: f"{origin['distribution']} {origin['version']}"
        for word in ("scheme", "task")
        for name, origin in found[word].items()
    }
    plugins |= {name: f"sha256:{file['sha256']}" for name, file in found["files"].items()}
    return {"config_hash": digest({"config": config, "plugins": plugins}), "plugins": plugins}


def digest(value: Mapping[str, Any]) -> str:
    """SHA-256 of plain values, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(finite(value), sort_keys=True).encode()).hexdigest()
