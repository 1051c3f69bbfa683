"""A sweep's directory, read job by job: whatever state it was left in.

A job that never began, is still running, failed, was killed or diverged is a row like any other;
only what it has is read.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from posexp.files import finite, read_json
from posexp.objective import NEXT_TOKEN

LOSSES = ("bits_per_byte", "non_overlapping", "sliding")
SEEDS = ("seed", "seed_init", "seed_data")


@dataclass(frozen=True)
class Job:
    """One job: `config` is {} and `result` is None where the job has not written them.

    `name` is that of its directory, with the sweep's in front where several sweeps are read;
    `sweep` is then that of the sweep. `overrides` is what its sweep gave it.
    """

    name: str
    path: Path
    status: str
    error: str | None = None
    seconds: float | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    sweep: str = ""
    overrides: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """What was recorded of the job; before its training ended, what the config says."""
        known = {key: self.config[key] for key in SEEDS if key in self.config}
        for group, fact in (("scheme", "scheme"), ("span", "span"), ("data", "corpus")):
            if name := (self.config.get(group) or {}).get("name"):
                known[fact] = name
        known["context_length"] = (self.config.get("trainer") or {}).get("context_length")
        known["bos"] = (self.config.get("data") or {}).get("bos")
        known["objective"] = self.objective
        known = {key: value for key, value in known.items() if value is not None}
        return known | dict((self.result or {}).get("facts") or {})

    @property
    def objective(self) -> str:
        """What it learns to predict; before there was a choice, the next token."""
        return (self.config.get("objective") or {}).get("name") or NEXT_TOKEN

    @property
    def evaluation(self) -> Mapping[str, Any]:
        """The evaluation's results, {} where there are none."""
        return (self.result or {}).get("evaluation") or {}

    @property
    def context_length(self) -> int | None:
        """The training length T."""
        return self.evaluation.get("context_length") or self.facts.get("context_length")

    @property
    def training(self) -> Mapping[str, Any]:
        """What training cost and where it ended, {} where it has not."""
        return (self.result or {}).get("training") or {}

    @property
    def validation(self) -> float | None:
        """The last loss on the validation split in training, at T, in bits per byte."""
        return self.training.get("val_bits_per_byte")

    def losses(self, kind: str = "anchored") -> dict[int, Mapping[str, Any]]:
        """Length -> its entry, for `kind` "anchored", "foreign" or "literature"."""
        return {entry["length"]: entry for entry in self.evaluation.get(kind) or []}

    def loss(self, length: int | None, kind: str = "anchored") -> float | None:
        """Bits per byte at `length`, None where there is no such number."""
        return self.losses(kind).get(length, {}).get("bits_per_byte")

    @property
    def task(self) -> Mapping[str, Any]:
        """The results of the job's task, {} where it has none."""
        return self.evaluation.get("task") or {}

    def recalled(self) -> dict[int, Mapping[str, Any]]:
        """Length -> the task's accuracy over all distances, as an entry."""
        return {entry["length"]: entry for entry in self.task.get("lengths") or []}

    def diverged(self, length: int | None) -> bool:
        """Whether the loss at `length` diverged; at every length where training did."""
        at = {n: entry.get("status") == "diverged" for n, entry in self.losses().items()}
        in_training = self.status == "diverged" and not any(at.values())
        return in_training or at.get(length, False)

    @property
    def outcome(self) -> str:
        """`status`, except that a loss at T which is not a number counts as diverged."""
        completed = self.status == "completed"
        return "diverged" if completed and self.diverged(self.context_length) else self.status

    @cached_property
    def anchors(self) -> dict[str, np.ndarray] | None:
        """The per-anchor arrays, None where there are none that can be read."""
        try:
            # Opened here: numpy leaves a file that is no archive open.
            with (
                (self.path / "anchors.npz").open("rb") as file,
                np.load(file, allow_pickle=False) as arrays,
            ):
                return dict(arrays)
        except (OSError, ValueError, EOFError, BadZipFile):
            return None


def read_jobs(directory: Path) -> list[Job]:
    """The jobs of a sweep in the order they were planned; a single run is a sweep of one.

    Raises `ValueError` where `directory` is missing or has no job.
    """
    if not directory.is_dir():
        siblings = (
            [p.name for p in directory.parent.glob("*/")] if directory.parent.is_dir() else []
        )
        near = difflib.get_close_matches(directory.name, siblings, n=1)
        hint = f"; did you mean {directory.parent / near[0]}?" if near else ""
        raise ValueError(f"there is no directory {directory}{hint}")
    if _is_job(directory):
        return [read_job(directory)]
    record = read_json(directory / "sweep.json") or {}
    planned = record.get("jobs") or []
    given = dict(zip(planned, record.get("overrides") or [], strict=False))
    found = sorted((p.name for p in directory.glob("*/") if _is_job(p)), key=_by_number)
    names = list(dict.fromkeys([*planned, *found]))
    if not names:
        inner = [p.name for p in sorted(directory.glob("*/")) if (p / "sweep.json").is_file()]
        hint = f"; it holds sweeps, the last is {directory / inner[-1]}" if inner else ""
        raise ValueError(
            f"{directory} is neither a sweep (sweep.json, or a directory a job) "
            f"nor a job (config.json){hint}"
        )
    return [read_job(directory / name, given.get(name, ())) for name in names]


def read_job(path: Path, overrides: Sequence[str] = ()) -> Job:
    """One job's directory. A file of it that cannot be read makes the job a failed one."""
    broken = []
    files: dict[str, Any] = {}
    for name in ("config", "status", "result"):
        try:
            files[name] = read_json(path / f"{name}.json", keep_nan=name == "result")
        except (ValueError, OSError) as error:
            broken.append(str(error))
            files[name] = None
    status = files["status"] or {}
    return Job(
        name=path.name,
        path=path,
        status="failed" if broken else status.get("status", "not started"),
        error=broken[0] if broken else status.get("error"),
        seconds=status.get("seconds"),
        config=files["config"] or {},
        result=None if files["result"] is None else _mark_diverged(files["result"]),
        overrides=tuple(overrides),
    )


def _is_job(path: Path) -> bool:
    return any((path / name).is_file() for name in ("config.json", "status.json"))


def _by_number(name: str) -> tuple[float, str]:
    number = name.split("_")[0]
    return (int(number) if number.isdigit() else math.inf, name)


def _mark_diverged(result: Any) -> Any:
    """Every entry with a status and a loss that is not finite: null and "diverged"."""
    if isinstance(result, Mapping):
        marked = {key: _mark_diverged(value) for key, value in result.items()}
        if "status" in marked and any(
            isinstance(result.get(loss), float) and not math.isfinite(result[loss])
            for loss in LOSSES
        ):
            marked["status"] = "diverged"
        return marked
    if isinstance(result, list):
        return [_mark_diverged(item) for item in result]
    return finite(result)
