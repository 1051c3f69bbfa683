"""The exact environment of a run: every installed version, the user's own code, the command."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import distributions
from itertools import count
from pathlib import Path
from typing import Any

from posexp.files import replace, write_json
from posexp.status import now

FILE, DIFF = "environment.json", "environment.diff"
LARGEST_DIFF = 20_000_000  # bytes; more is not code


def save_environment(directory: Path, machine: dict[str, Any]) -> None:
    """Write environment.json into `directory`, and environment.diff if there are local changes.

    A later start writes environment_2.json and so on: what the first one had is kept.
    """
    number = next(i for i in count(1) if not _numbered(directory / FILE, i).exists())
    repository, diff = describe_repository(Path.cwd())
    if diff:
        path = _numbered(directory / DIFF, number)
        replace(path, diff)
        repository["diff"] = path.name
    write_json(
        _numbered(directory / FILE, number),
        {
            "time": now(),
            "command": sys.argv,
            "directory": os.getcwd(),
            "python": sys.version,
            "platform": platform.platform(),
            "machine": machine,
            "repository": repository or None,
            "packages": packages(),
        },
    )


def packages() -> dict[str, str]:
    """Name -> version of every installed distribution, by name."""
    found = {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"]}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def describe_repository(directory: Path) -> tuple[dict[str, Any], bytes]:
    """Commit, branch and untracked files of the git repository around, and its uncommitted diff.

    Nothing where there is no repository, no commit, or no git.
    """
    commit = _git(directory, ["rev-parse", "HEAD"])
    if commit is None:
        return {}, b""
    diff = _git(directory, ["diff", "HEAD", "--binary", "--no-ext-diff", "--no-color"]) or b""
    untracked = _git(directory, ["ls-files", "--others", "--exclude-standard"]) or b""
    branch = _git(directory, ["rev-parse", "--abbrev-ref", "HEAD"]) or b""
    facts: dict[str, Any] = {
        "commit": commit.decode().strip(),
        "branch": branch.decode().strip(),
        "untracked": untracked.decode(errors="replace").splitlines()[:1000],
    }
    if len(diff) > LARGEST_DIFF:
        return facts | {"diff": f"left out: {len(diff)} bytes"}, b""
    return facts, diff


def _git(directory: Path, words: Sequence[str]) -> bytes | None:
    # No hook and no helper of the user's configuration is to run.
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(directory), *words]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return ran.stdout


def _numbered(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_stem(f"{path.stem}_{number}")
