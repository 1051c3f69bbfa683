"""Several sweeps read as one: their jobs stay apart by name, and what two have counts once."""

from __future__ import annotations

import dataclasses
import hashlib
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posexp.files import dump_json, read_json
from posexp.report.jobs import Job, read_jobs

# What must be equal, where both jobs have recorded it, for two runs of one config to be the same.
SAME_FACTS = ("corpus_fingerprint", "plugin")
MOST_NOTES = 3


@dataclass(frozen=True)
class Sweeps:
    """`jobs` of all directories, the `commands` that made them, and what was counted once."""

    jobs: tuple[Job, ...]
    commands: tuple[str, ...]
    notes: tuple[str, ...]


def read_sweeps(directories: Sequence[Path]) -> Sweeps:
    """The jobs of sweeps, or of single runs.

    Of several directories the jobs are called `sweep/job`, by the shortest ends of the paths that
    differ. Raises `ValueError` as `read_jobs` does, and where a directory is given twice.
    """
    whole = [Path(directory).resolve() for directory in directories]
    if repeated := [str(path) for path in dict.fromkeys(whole) if whole.count(path) > 1]:
        raise ValueError(f"given more than once: {', '.join(repeated)}")
    read = [read_jobs(Path(directory)) for directory in directories]
    commands = tuple(filter(None, map(_command, directories)))
    if len(read) == 1:
        return Sweeps(tuple(read[0]), commands, ())
    jobs = [
        dataclasses.replace(job, name=f"{tag}/{job.name}", sweep=tag)
        for tag, found in zip(shortest_ends(whole), read, strict=True)
        for job in found
    ]
    kept, notes = _once(jobs)
    return Sweeps(tuple(kept), commands, tuple(notes))


def shortest_ends(paths: Sequence[Path]) -> list[str]:
    """The last part of each path, or as many of the last ones as it takes to tell all apart."""
    for n in range(1, max(len(path.parts) for path in paths) + 1):
        ends = ["/".join(path.parts[-n:]) for path in paths]
        if len(set(ends)) == len(ends):
            return ends
    raise ValueError("the paths are not different")


def config_hash(job: Job) -> str:
    """SHA-256 of the config that trains the same model anywhere: without tracking and paths."""
    config = {key: value for key, value in job.config.items() if key != "tracking"}
    if isinstance(config.get("data"), Mapping):
        config["data"] = {k: v for k, v in config["data"].items() if k != "path"}
    return hashlib.sha256(dump_json(_sorted(config)).encode()).hexdigest()


def same_job(one: Job, other: Job) -> bool:
    """Whether two jobs of the same config hash are the same: corpus, plugin and versions too."""
    a, b = one.facts, other.facts
    versions = {key for key in a.keys() | b.keys() if key.startswith("version.")}
    for key in (*SAME_FACTS, *versions):
        if key in a and key in b and a[key] != b[key]:
            return False
    if "corpus_fingerprint" in a and "corpus_fingerprint" in b:
        return True
    paths = [(job.config.get("data") or {}).get("path") for job in (one, other)]
    return paths[0] == paths[1]


def _once(jobs: Sequence[Job]) -> tuple[list[Job], list[str]]:
    """Each job once, that with a result where one has none, and a line for each left out."""
    by_hash: dict[str, list[Job]] = defaultdict(list)
    left_out: dict[str, str] = {}
    # In order of worth: a completed job stands for one that failed elsewhere.
    for job in sorted(jobs, key=lambda job: (job.result is None, job.status != "completed")):
        if not job.config:
            continue
        found = by_hash[config_hash(job)]
        twin = next((k for k in found if k.sweep != job.sweep and same_job(k, job)), None)
        if twin is None:
            found.append(job)
            continue
        what = "" if job.outcome == twin.outcome else f"; the second is {job.outcome}"
        left_out[job.name] = (
            f"{twin.name} and {job.name} are the same job (config {config_hash(job)[:12]}), "
            f"counted once{what}."
        )
    notes = list(left_out.values())
    if len(notes) > MOST_NOTES:
        more = len(notes) - MOST_NOTES
        notes = [*notes[:MOST_NOTES], f"{more} more jobs that two sweeps have are counted once."]
    return [job for job in jobs if job.name not in left_out], notes


def _command(directory: Path) -> str:
    record = read_json(Path(directory) / "sweep.json") or {}
    return shlex.join(record.get("command") or [])


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return value
