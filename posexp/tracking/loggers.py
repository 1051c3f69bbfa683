"""The loggers of one job: CSV always, and one W&B run unless `tracking=csv`."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytorch_lightning.loggers import CSVLogger, Logger, WandbLogger

MODES = ("auto", "online", "offline", "disabled")
#: Without a network `wandb.init` blocks for minutes; this asks first.
CONNECT_SECONDS = 3


def make_loggers(directory: Path, config: Mapping[str, Any], run_id: str) -> list[Logger]:
    """CSV in `directory/metrics.csv`, and a W&B run in `directory/wandb`.

    The W&B run has the sweep as its group (a single run none), the choices and the seed as its
    name, and the whole nested config. `run_id` continues the run of a resumed job.
    """
    loggers: list[Logger] = [CSVLogger(directory, name="", version="")]
    tracking = config["tracking"]
    if tracking["name"] == "wandb":
        mode = wandb_mode(tracking["mode"])
        if mode != "disabled":
            import wandb

            kept = directory / "wandb"
            upload = f"; upload with: wandb sync {kept}/offline-run-*" if mode == "offline" else ""
            print(f"W&B: {mode}, in {kept}{upload}")
            loggers.append(
                WandbLogger(
                    project=tracking["project"],
                    entity=tracking["entity"],
                    group=tracking["group"],
                    name=run_name(config),
                    tags=[*tracking["tags"], *choices(config)],
                    id=run_id,
                    resume="allow",
                    # Not `offline=True`, which would leave WANDB_MODE set for later jobs.
                    mode=mode,
                    # Its dozen lines a run, of which ours above is the one that matters.
                    settings=wandb.Settings(silent=True),
                    save_dir=directory,
                    config=dict(config),
                )
            )
    return loggers


def check_tracking(tracking: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a W&B mode that does not exist."""
    if tracking["name"] == "wandb" and tracking["mode"] not in MODES:
        raise ValueError(f"tracking.mode={tracking['mode']} is unknown; valid: {', '.join(MODES)}")


def choices(config: Mapping[str, Any]) -> list[str]:
    """What was chosen, for names and tags: the scheme, a span that is not full, and a task."""
    span = config["span"]["name"]
    names = [config["scheme"]["name"], *([] if span == "full" else [span])]
    return [*names, config["task"]["name"]] if "task" in config else names


def run_name(config: Mapping[str, Any]) -> str:
    """`rope-sliding-seed0`."""
    return "-".join([*choices(config), f"seed{config['seed']}"])


def wandb_mode(asked: str) -> str:
    """`auto` is online for someone who is logged in and can reach the server, else offline.

    `WANDB_MODE` in the environment decides before `auto` does. Never waits longer than a few
    seconds and never asks.
    """
    if asked == "auto":
        asked = os.environ.get("WANDB_MODE", "auto")
    if asked in ("offline", "disabled", "dryrun"):
        return "disabled" if asked == "disabled" else "offline"
    import wandb

    if not wandb.login(prompt=False, verify=False):
        if asked == "online":
            warnings.warn(
                "W&B: online was asked for, but nobody is logged in (wandb login); recording "
                "offline instead, wandb sync uploads it later",
                stacklevel=2,
            )
        return "offline"
    # The environment first: wandb reads it once per process.
    if asked == "online":
        return "online"  # as asked; the probe below knows nothing of proxies
    url = os.environ.get("WANDB_BASE_URL") or wandb.setup().settings.base_url
    server = urlsplit(url)
    try:
        port = server.port or (443 if server.scheme == "https" else 80)
        socket.create_connection((server.hostname, port), CONNECT_SECONDS).close()
    except OSError:
        warnings.warn(
            f"W&B: {server.hostname} cannot be reached; recording offline instead, "
            "wandb sync uploads it later",
            stacklevel=2,
        )
        return "offline"
    return "online"


def log_evaluation(loggers: list[Logger], evaluation: Mapping[str, Any], step: int) -> None:
    """Loss and recall against length: values in every logger, a line plot of the loss in W&B."""
    losses = {
        row["length"]: row["bits_per_byte"]
        for row in evaluation["anchored"]
        if row["bits_per_byte"] is not None
    }
    recalled = task_metrics(evaluation["task"]) if "task" in evaluation else {}
    for logger in loggers:
        by_length = {f"eval/bits_per_byte_{n}": x for n, x in losses.items()}
        logger.log_metrics(by_length | recalled, step)
        logger.save()  # the CSV would wait for a hundred rows
        if isinstance(logger, WandbLogger):
            import wandb

            table = wandb.Table(columns=["length", "bits per byte"], data=list(losses.items()))
            plot = wandb.plot.line(table, "length", "bits per byte", title="Loss against length")
            logger.experiment.log({"eval/loss_by_length": plot})


def task_metrics(task: Mapping[str, Any]) -> dict[str, float]:
    """`task/needle/accuracy_1024`, over all distances, for the lengths that have one."""
    return {
        f"task/{task['name']}/accuracy_{row['length']}": row["accuracy"]
        for row in task["lengths"]
        if row["accuracy"] is not None
    }


def finish(loggers: list[Logger], returncode: int) -> None:
    """Close the W&B run, so that the next job of this process cannot write into it."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger.experiment.finish(exit_code=returncode)
