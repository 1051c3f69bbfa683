"""The plugins of a run: recorded when it starts, its files copied, both checked when it goes on.

A sweep copies the files that were named with --plugin into its own directory and into that of each
job which uses one. A job runs its own copy and nothing else: an edit cannot change it half-way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from posexp.files import read_json, replace, write_json
from posexp.local import files
from posexp.plugin_file import PluginFile, short
from posexp.registry import PluginError, registry, task_registry

COPIES = "plugins"
COPIED = "copied.json"  # beside the copies: their hashes, and where they came from


def record_plugins(configs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Distribution and version of every scheme and task in `configs`, as plain values.

    `files` holds the hash and the path of each local file, if one of them is used: files can
    import each other.
    """
    record: dict[str, Any] = {"scheme": {}, "task": {}, "files": {}}
    local = {file.name: file for file in files()}
    for config in configs:
        for found in (registry(), task_registry()):
            for name in _chosen(config.get(found.kind.word)):
                if name not in found.names:
                    continue
                origin = found.origins(name)[0]
                record[found.kind.word][name] = {
                    "distribution": origin.distribution,
                    "version": origin.version,
                }
                if origin.distribution in local:
                    record["files"] = {key: _file_record(file) for key, file in local.items()}
    return record


def check_plugins(record: Mapping[str, Any]) -> list[str]:
    """What changed since `record_plugins`, a sentence each without its full stop.

    Raises `PluginError` if a plugin is gone or broken, if two offer its name now, or if another
    distribution does.
    """
    changes = []
    for found in (registry(), task_registry()):
        word = found.kind.word
        for name, then in record[word].items():
            was = f"{then['distribution']} {then['version']}"
            if name not in found.names:
                raise PluginError(
                    f"the {word} {name!r} came from {was}, which does not offer it now: install "
                    "that version again"
                )
            found.get(name)
            now = found.origins(name)[0]
            if _normal(now.distribution) != _normal(then["distribution"]):
                raise PluginError(
                    f"the {word} {name!r} came from {was} and is offered by {now} now: install "
                    f"{was} again in its place"
                )
            if now.version != then["version"]:
                changes.append(f"{then['distribution']} was {then['version']} and is {now.version}")
    for name, then in record["files"].items():
        original = Path(then["path"])
        if original.is_file() and (now := PluginFile.read(original)).sha256 != then["sha256"]:
            changes.append(
                f"{original} was {short(then['sha256'])} and is {now.version}, but the copy of "
                f"{name} is used"
            )
    return changes


def recorded_plugins(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """The record in a provenance; older ones name the scheme alone."""
    plugin = provenance["plugin"]
    older = {"scheme": {plugin["scheme"]: plugin}, "task": {}, "files": {}}
    return provenance.get("plugins", older)


def copy_plugins(directory: Path, configs: Iterable[Mapping[str, Any]]) -> None:
    """Copy the files in use into `directory`, if `configs` use any and it has none yet."""
    home = directory / COPIES
    if not files() or (home / COPIED).exists():
        return
    if record := record_plugins(configs)["files"]:
        for file in files():
            replace(home / file.name, file.source)
        write_json(home / COPIED, record)


def copies(directory: Path, record: Mapping[str, Any] | None = None) -> list[PluginFile]:
    """The plugin files in the directory of a sweep or a job, unchanged since they were copied.

    `record` is the `files` of a record that was kept elsewhere, and then no other file is used.
    Raises `PluginError` if a copy is gone or was altered.
    """
    home = directory / COPIES
    then = (read_json(home / COPIED) or {}) if record is None else record
    found = []
    for name, known in then.items():
        path = home / Path(name).name  # a record from elsewhere leads nowhere else
        if not path.is_file():
            raise PluginError(f"{path} is gone, and nothing else may take its place")
        now = PluginFile.read(path)
        if now.sha256 != known["sha256"]:
            raise PluginError(
                f"{path} was altered: it was {short(known['sha256'])} and is {now.version}; put "
                "the copy back as it was, or start a new run"
            )
        found.append(now)
    return found


def _chosen(section: Any) -> Iterator[str]:
    """The names in a section of a config: what it chooses, and what that contains."""
    if isinstance(section, Mapping):
        if isinstance(section.get("name"), str):
            yield section["name"]
        for value in section.values():
            yield from _chosen(value)


def _file_record(file: PluginFile) -> dict[str, str]:
    """The hash of a file and where the user keeps it, also if this is a copy already."""
    path = str(file.path)
    if file.path.parent.name == COPIES and (copied := read_json(file.path.with_name(COPIED))):
        path = copied[file.name]["path"]
    return {"sha256": file.sha256, "path": path}


def _normal(distribution: str) -> str:
    """One spelling for `Third.Party` and `third-party`, as pip has it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()
