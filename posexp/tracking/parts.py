"""The files that a job left behind, one for each time it ran, joined into one run.

A job that is resumed offline begins a new file under the same id, and trains the steps since its
last checkpoint again. Of those the later part counts: its weights are the ones that went on. What
the server has already is not sent twice: it adds lines to a history, and takes none back.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from posexp.tracking.records import read_records, write_records

#: What says how a run is, not what happened in it: told again to a server that knows the run.
STATE = {"header", "run", "config", "summary", "metric", "telemetry", "environment"}


@dataclass(frozen=True)
class Part:
    """One `.wandb` file, in a directory that also holds the `files/` it mentions."""

    path: Path

    @cached_property
    def records(self) -> list[Any]:
        """Every whole record."""
        return list(read_records(self.path))

    @property
    def run(self) -> Any:
        """The record of the run: id, project, config, when it started. None in an empty file."""
        return next((r.run for r in self.records if r.HasField("run")), None)

    @property
    def steps(self) -> list[int]:
        """The steps that it logged, in order."""
        return [r.history.step.num for r in self.records if r.HasField("history")]

    @property
    def seconds(self) -> float:
        """For how long it logged."""
        rows = (r.history.item for r in self.records if r.HasField("history"))
        return max((json.loads(i.value_json) for row in rows for i in _runtimes(row)), default=0.0)

    @property
    def offline(self) -> bool:
        """Whether nothing of it was sent when it was written."""
        return self.path.parent.name.startswith("offline-")

    @property
    def synced(self) -> bool:
        """Whether it was uploaded since; the mark is W&B's own."""
        return _mark(self.path).exists()

    @property
    def uploaded(self) -> bool:
        """Whether the server has what happened in it."""
        return self.synced or not self.offline

    def mark_synced(self) -> None:
        """Tell `wandb sync`, `wandb clean` and the next `posexp wandb sync` that it is done."""
        _mark(self.path).touch()


def parts_of(job: Path) -> list[Part]:
    """The parts of a job's run in the order in which they were recorded; empty ones left out."""
    parts = [Part(path) for path in job.glob("wandb/*run-*/run-*.wandb")]
    return sorted((p for p in parts if p.run), key=lambda p: p.run.start_time.ToNanoseconds())


def join_parts(parts: Sequence[Part], directory: Path) -> Path:
    """Write the run as one file in `directory`, with all files it mentions beside it.

    A step that several parts recorded is taken from the last of them, unless it was uploaded.
    """
    run_id = parts[0].run.run_id
    path = directory / f"run-{run_id}.wandb"
    write_records(path, joined_records(parts))
    for part in parts:
        if (files := part.path.parent / "files").is_dir():
            shutil.copytree(files, directory / "files", dirs_exist_ok=True)
    return path


def joined_records(parts: Sequence[Part]) -> Iterator[Any]:
    """One run's records: begun once, ended as its last part ended, its steps never going back.

    A later part's config and summary add to the earlier ones'. Its running time is counted on.
    """
    sent = max((step for part in parts if part.uploaded for step in part.steps[-1:]), default=-1)
    ran = 0.0
    for number, part in enumerate(parts):
        # Steps from here on were recorded again, by one of the later parts.
        again = min((n for later in parts[number + 1 :] for n in later.steps[:1]), default=math.inf)
        for original in part.records:
            kind = original.WhichOneof("record_type")
            if part.uploaded and kind not in STATE:
                continue
            if (kind == "header" and number > 0) or (kind == "exit" and part is not parts[-1]):
                continue
            record = type(original).FromString(original.SerializeToString())
            if kind == "history":
                if not sent < record.history.step.num < again:
                    continue
                _count_runtime(record.history.item, ran)
            elif kind == "summary":
                _count_runtime(record.summary.update, ran)
            elif kind == "run" and number > 0:
                record = type(original)(config=record.run.config)
            yield record
        ran += part.seconds


def _runtimes(items: Any) -> Iterator[Any]:
    return (item for item in items if (item.key or ".".join(item.nested_key)) == "_runtime")


def _count_runtime(items: Any, ran: float) -> None:
    for item in _runtimes(items):
        item.value_json = json.dumps(ran + json.loads(item.value_json))


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.synced")
