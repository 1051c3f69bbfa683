"""A translated checkpoint as the directory of a job that has ended, with all that `eval` reads."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from posexp import status
from posexp.composition import compose_job
from posexp.family import Translation
from posexp.files import write_json
from posexp.model import ModelConfig
from posexp.registry import scheme_config
from posexp.training.checkpoints import LAST, PlainFiles
from posexp.training.machine import resolve_machine


def job_config(translation: Translation, context_length: int | None) -> dict[str, Any]:
    """The config of a job that would have trained this model, resolved; in float32.

    `context_length` takes the place of the translation's. Raises `ValueError`.
    """
    length = translation.context_length if context_length is None else context_length
    settings = ["trainer.precision=32-true", "tracking=csv"]
    if translation.window is not None:
        settings += ["span=sliding", f"span.window={translation.window}"]
    config = compose_job(settings)
    config["trainer"]["context_length"] = length
    config["model"] = dataclasses.asdict(ModelConfig(**translation.model))
    config["scheme"] = whole_scheme(translation.scheme)
    return resolve_machine(config)


def whole_scheme(scheme: Mapping[str, Any]) -> dict[str, Any]:
    """A scheme's config with the defaults of what it leaves out, also in schemes inside it."""
    typed = dataclasses.asdict(scheme_config(scheme))
    typed.pop("defaults", None)  # how Hydra composes it
    inner = {
        key: whole_scheme(value)
        for key, value in typed.items()
        if isinstance(value, Mapping) and "name" in value
    }
    return {"name": scheme["name"], **typed, **inner}


def write_run(
    out: Path,
    provenance: Mapping[str, Any],
    weights: Mapping[str, Tensor],
    files: Mapping[str, bytes],
) -> None:
    """Write the directory `out`, which must not exist, whole or not at all.

    `files` are put beside the checkpoint. Raises `ValueError` where the disk does not take it.
    """
    checkpoint = {
        "state_dict": {f"model.{name}": tensor for name, tensor in weights.items()},
        "global_step": 0,
        "posexp": dict(provenance),
    }
    with _whole(out) as directory:
        write_json(directory / "config.json", provenance["config"])
        write_json(directory / "provenance.json", provenance)
        for name, content in files.items():
            (directory / name).write_bytes(content)
        PlainFiles().save_checkpoint(checkpoint, directory / LAST)
        # So that nobody goes on with it as with an interrupted job.
        status.record(directory, "completed", 0)


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
    building = out.with_name(f".{out.name}.{os.getpid()}.partial")
    building.mkdir(parents=True)
    try:
        yield building
        os.rename(building, out)
    except OSError as error:
        raise ValueError(f"{out} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
