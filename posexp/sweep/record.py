"""sweep.json: what a sweep is, for everyone who goes on with it or looks at it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from posexp.files import read_json, write_json
from posexp.status import now
from posexp.sweep.errors import DirectoryInUseError
from posexp.sweep.jobs import Job

SWEEP_FILE = "sweep.json"

#: For sweeps that an older posexp recorded.
NOTHING: dict[str, Any] = {
    "plugins": {"scheme": {}, "task": {}, "files": {}},
    "launcher": {"name": "posexp", "settings": None},
    "machine": {},
    "settings": {},
    "continued": [],
}


def is_sweep(directory: Path) -> bool:
    """Whether a sweep was begun in `directory`."""
    return (directory / SWEEP_FILE).is_file()


def new_record(
    directory: Path, jobs: Sequence[Job], command: Sequence[str], **facts: Any
) -> dict[str, Any]:
    """The record of a sweep that begins now; `facts` are among the keys of `NOTHING`."""
    about = {"command": list(command), "created": now()}
    return {"jobs": [], **about, **NOTHING, **facts, **_columns(directory, jobs)}


def extended(
    record: Mapping[str, Any],
    directory: Path,
    jobs: Sequence[Job],
    command: Sequence[str],
    **facts: Any,
) -> dict[str, Any]:
    """The record after `command` was given for a sweep that exists and added `jobs` to it."""
    added = _columns(directory, jobs)
    columns = {key: [*record.get(key, []), *rows] for key, rows in added.items()}
    once_more = {"command": list(command), "at": now(), "added": added["jobs"]}
    continued = [*record.get("continued", []), once_more]
    return {**record, **facts, **columns, "continued": continued}


def write_record(directory: Path, record: Mapping[str, Any]) -> None:
    """Write sweep.json, whole or not at all."""
    write_json(directory / SWEEP_FILE, record)


def read_record(directory: Path) -> dict[str, Any]:
    """What sweep.json holds. Raises `DirectoryInUseError` if there is none."""
    found = read_json(directory / SWEEP_FILE)
    if found is None:
        raise DirectoryInUseError(f"{directory} is not the directory of a sweep: no {SWEEP_FILE}")
    return NOTHING | found


def recorded_jobs(directory: Path, record: Mapping[str, Any]) -> list[Job]:
    """The jobs of a record, in order."""
    names = record["jobs"]
    identities = record.get("identities") or [{} for _ in names]
    columns = (record["configs"], record["overrides"], record["environments"], identities)
    return [Job(directory / name, *rest) for name, *rest in zip(names, *columns, strict=True)]


def read_sweep(directory: Path) -> list[Job]:
    """The jobs of a sweep's directory, or of the directory of one job.

    Raises `DirectoryInUseError` if it is neither.
    """
    if is_sweep(directory):
        return recorded_jobs(directory, read_record(directory))
    single = directory / "config.json"
    if single.is_file():
        return [Job(directory, json.loads(single.read_text()))]
    raise DirectoryInUseError(
        f"{directory} is not the directory of a sweep or a job: it has no {SWEEP_FILE} and no "
        "config.json"
    )


def _columns(directory: Path, jobs: Sequence[Job]) -> dict[str, list[Any]]:
    return {
        "jobs": [job.directory.relative_to(directory).as_posix() for job in jobs],
        "configs": [job.config for job in jobs],
        "overrides": [job.overrides for job in jobs],
        "environments": [job.environment for job in jobs],
        "identities": [job.identity for job in jobs],
    }
