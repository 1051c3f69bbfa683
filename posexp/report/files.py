"""Writing a report without losing anything that somebody else put in its place.

results.json lists what the report wrote, with digests; a file that is there but is not one of
those, or was edited since, is the user's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from posexp.files import dump_json, read_json, replace

INDEX = "results.json"
MADE_BY = "posexp report"


def write_report(directory: Path, contents: Mapping[str, bytes], index: Mapping[str, Any]) -> None:
    """Write `contents` (relative name -> bytes) and results.json into `directory`.

    Raises `FileExistsError`, before anything is written, where a file is not the report's own.
    """
    earlier = check_own(directory, contents)
    for name, content in contents.items():
        replace(directory / name, content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    text = dump_json({"made_by": MADE_BY, **index, "files": earlier | digests})
    replace(directory / INDEX, text.encode())


def check_own(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """The digests of what the report wrote earlier.

    Raises `FileExistsError` where results.json or one of `names` is there but not ours.
    """
    try:
        index = read_json(directory / INDEX)
    except ValueError:
        index = {}
    if index is not None and index.get("made_by") != MADE_BY:
        raise _not_ours(directory / INDEX)
    digests = (index or {}).get("files") or {}
    for name in names:
        path = directory / name
        if not path.exists():
            continue
        if not path.is_file() or digests.get(name) != _digest(path):
            raise _not_ours(path)
    return digests


def _not_ours(path: Path) -> FileExistsError:
    return FileExistsError(
        f"{path} was not written by `{MADE_BY}`, or was changed since; "
        "move or rename it, and run the report again"
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
