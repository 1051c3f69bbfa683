"""The verb `train`: compose, check, then run one job, a sweep, or what is left of either."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from hydra._internal.hydra import Hydra

from posexp.composition import hydra_session
from posexp.composition.compose import CONFIG_NAME
from posexp.composition.store import registries
from posexp.sweep.command import Command
from posexp.sweep.going_on import resume_sweep
from posexp.sweep.multirun import run_sweep
from posexp.sweep.record import is_sweep, read_sweep
from posexp.sweep.single import resume_single, run_single


def train(
    overrides: Sequence[str],
    multirun: bool = False,
    plan: bool = False,
    ignore_disk: bool = False,
) -> int:
    """Run `posexp train`; the exit code is 0, 1 if a job failed, or 130 after Ctrl-C.

    Raises `ConfigurationError`, `ValueError` or `PluginError` before anything is written if any
    job cannot be composed or is not legal.
    """
    # A single run trains in this process: denormals make float32 ALiBi several times slower, and
    # once the checks below have started torch's threads it is too late.
    torch.set_flush_denormal(True)
    command = Command(list(overrides), plan, ignore_disk)
    with hydra_session() as hydra:
        _note_broken_plugins()
        if multirun or _asks_for_multirun(hydra, overrides):
            return run_sweep(hydra, command)
        return run_single(hydra, command)


def resume(directory: Path) -> int:
    """Go on with every job of `directory` that has not ended, with the settings it has.

    Raises `ValueError` if `directory` holds neither a sweep nor a job or is at work already, and
    `PluginError`, before any job starts, if a plugin is gone, is another one, or a copy of one was
    altered.
    """
    torch.set_flush_denormal(True)
    directory = directory.absolute()
    if is_sweep(directory):
        return resume_sweep(directory)
    return resume_single(read_sweep(directory)[0])


def _asks_for_multirun(hydra: Hydra, overrides: Sequence[str]) -> bool:
    """Whether a config file or an override says `hydra.mode: MULTIRUN`."""
    return str(hydra.get_mode(CONFIG_NAME, list(overrides))).endswith("MULTIRUN")


def _note_broken_plugins() -> None:
    for found in registries().values():
        for error in found.failures().values():
            print(f"posexp: note: {error}", file=sys.stderr)
