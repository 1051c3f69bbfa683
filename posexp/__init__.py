"""posexp: the lab bench for position encodings.

Names are loaded on first use, so that `posexp --help` does not wait for torch.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

__version__ = version("posexp")

_HOMES = {
    "AttentionDims": "posexp.dims",
    "Chunked": "posexp.compose",
    "Compose": "posexp.compose",
    "FamilySpec": "posexp.family",
    "Planted": "posexp.task",
    "PluginError": "posexp.registry",
    "PositionScheme": "posexp.scheme",
    "SchemeSpec": "posexp.registry",
    "SlidingWindow": "posexp.compose",
    "Task": "posexp.task",
    "TaskSpec": "posexp.task",
    "Translation": "posexp.family",
    "Weight": "posexp.family",
    "attend": "posexp.functional",
    "build_scheme": "posexp.registry",
    "build_task": "posexp.task",
    "hookimpl": "posexp.hookspecs",
    "with_span": "posexp.compose",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'posexp' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
