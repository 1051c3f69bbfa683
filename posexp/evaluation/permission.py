"""Whether a checkpoint's own plugin files may run, and which."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posexp.local import files
from posexp.plugin_file import PluginFile, short
from posexp.registry import PluginError
from posexp.training.plugins import COPIES, copies


def allowed_files(
    record: Mapping[str, Any], directory: Path, run_copied_plugin: bool
) -> list[PluginFile]:
    """The plugin files with which to evaluate a checkpoint; `record` is the `files` of its record.

    They are the copies in its job's `directory` if the user said so, else the files in use, which
    must be the ones it was trained with. Raises `PluginError` where they are not.

    A checkpoint may come from anyone. Its weights load without running any code; a Python file that
    came with it can do whatever its author liked. So it does not run because it lies there.
    """
    if run_copied_plugin:
        if not record:
            raise PluginError("--run-copied-plugin: this checkpoint has no copied plugin")
        return copies(directory, record)
    given = {file.name: file for file in files()}
    for name, then in record.items():
        copy = directory / COPIES / Path(name).name
        allow = f"look at {copy} and allow it with --run-copied-plugin"
        if name not in given:
            raise PluginError(
                f"this checkpoint needs the code in {name}: {allow}, or give the same file with "
                f"--plugin {name}"
            )
        if given[name].sha256 != then["sha256"]:
            raise PluginError(
                f"{given[name].path} is {given[name].version}, but this checkpoint was trained "
                f"with {short(then['sha256'])}: {allow}"
            )
    return files()
