"""A trained scheme seen further than it was trained, by another that extends it.

    posexp eval runs/.../checkpoints/last.ckpt scheme=yarn scheme.factor=8

The weights stay as they are. What the two schemes have in common keeps its trained value; the
model's training length stays that of the checkpoint.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from posexp.catalogue.settings import settings
from posexp.registry import PluginError, registry, scheme_config


def extended(trained: Mapping[str, Any], overrides: Sequence[str]) -> dict[str, Any]:
    """The config of the scheme that `scheme=NAME scheme.key=value ...` put in place of `trained`.

    Raises `ValueError` where the trained weights fix what is to change, `PluginError` where there
    is no such scheme.
    """
    names = [word.partition("=")[2] for word in overrides if word.startswith("scheme=")]
    others = [word for word in overrides if not word.startswith("scheme=")]
    if len(names) != 1:
        key = overrides[0].partition("=")[0]
        raise ValueError(f"{key} is fixed by the checkpoint; {_offer(trained['name'])}")
    (name,) = names
    if registry().get(name).extends != trained["name"]:
        raise ValueError(
            f"{name} does not extend {trained['name']}, which the checkpoint was trained with; "
            f"{_offer(trained['name'])}"
        )
    given, trained = settings(name, others), _whole(trained)
    for key in trained.keys() & given.keys() - {"name"}:
        if given[key] != trained[key]:
            raise ValueError(f"scheme.{key}={trained[key]} is fixed by the checkpoint")
    return _whole({**trained, **given})


def extends(scheme: Mapping[str, Any], trained: Mapping[str, Any]) -> bool:
    """Whether `scheme` may be built on weights of `trained`: two configs, each with its name."""
    if registry().get(scheme["name"]).extends != trained["name"]:
        return False
    now, then = _whole(scheme), _whole(trained)
    return all(now[key] == then[key] for key in then.keys() - {"name"})


def _whole(scheme: Mapping[str, Any]) -> dict[str, Any]:
    """A config with the defaults of what it leaves out."""
    return {"name": scheme["name"], **dataclasses.asdict(scheme_config(scheme))}


def _offer(trained: str) -> str:
    names = []
    for name in registry().names:
        with contextlib.suppress(PluginError):  # a broken plugin extends nothing
            names += [name] if registry().get(name).extends == trained else []
    return f"scheme={' or '.join(names)} can take its place" if names else "nothing extends it"
