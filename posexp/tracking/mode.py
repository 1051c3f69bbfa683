"""Whether a job is recorded online: decided in seconds, and never by asking."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from posexp.registry import nearest

MODES = ("auto", "online", "offline", "disabled")
ARTIFACTS = ("none", "last")
#: Without a network `wandb.init` blocks for minutes; this asks first.
CONNECT_SECONDS = 3


def check_tracking(tracking: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a W&B mode, or a choice of artifacts, that does not exist."""
    if tracking["name"] != "wandb":
        return
    given = {"mode": tracking["mode"], "artifacts": tracking.get("artifacts", "none")}
    for (key, value), valid in zip(given.items(), (MODES, ARTIFACTS), strict=True):
        if value not in valid:
            raise ValueError(
                f"tracking.{key}={value} is unknown{nearest(str(value), valid)}; "
                f"valid: {', '.join(valid)}"
            )


def wandb_mode(asked: str) -> str:
    """`auto` is online for someone who is logged in and can reach the server, else offline.

    `WANDB_MODE` in the environment decides before `auto` does. Never waits longer than a few
    seconds and never asks.
    """
    if asked == "auto":
        asked = os.environ.get("WANDB_MODE", "auto")
    if asked in ("offline", "disabled", "dryrun"):
        return "disabled" if asked == "disabled" else "offline"
    if not logged_in():
        if asked == "online":
            warnings.warn(
                "W&B: online was asked for, but nobody is logged in (wandb login); recording "
                "offline instead, posexp wandb sync uploads it later",
                stacklevel=2,
            )
        return "offline"
    if asked == "online":
        return "online"  # as asked; the probe below knows nothing of proxies
    server = urlsplit(server_url())
    try:
        port = server.port or (443 if server.scheme == "https" else 80)
        socket.create_connection((server.hostname, port), CONNECT_SECONDS).close()
    except OSError:
        warnings.warn(
            f"W&B: {server.hostname} cannot be reached; recording offline instead, "
            "posexp wandb sync uploads it later",
            stacklevel=2,
        )
        return "offline"
    return "online"


def logged_in() -> bool:
    """Whether W&B has a key, from the environment or `wandb login`; nothing is asked or sent."""
    import wandb

    return bool(wandb.login(prompt=False, verify=False))


def server_url() -> str:
    """Where W&B's server is."""
    import wandb

    # The environment first: wandb reads it once per process.
    return os.environ.get("WANDB_BASE_URL") or wandb.setup().settings.base_url
