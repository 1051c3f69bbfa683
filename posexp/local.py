"""Plugins that are single files, named with --plugin or in POSEXP_PLUGINS, not installed.

The file `my_scheme.py` is the module `posexp.local.my_scheme`: a stable name that shadows no
installed module, so that what is pickled in one process is found in another that has the same
POSEXP_PLUGINS. Such a file must be run to know what it offers. It is read once: what is imported,
hashed and copied into a job's directory are the same bytes, whatever an editor does meanwhile.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from posexp.loading import KINDS, Kind, PluginError
from posexp.plugin_file import FilePoint, PluginFile
from posexp.registry import family_registry, registry, task_registry

ENVIRONMENT = "POSEXP_PLUGINS"

__path__: list[str] = []  # a package whose modules only `_Finder` finds


_files: list[PluginFile] | None = None


def files() -> list[PluginFile]:
    """The files in use: at first those of POSEXP_PLUGINS, paths separated as in PATH."""
    global _files
    if _files is None:
        _files = _read(_in_environment())
    return _files


def local_points(kind: Kind) -> list[FilePoint]:
    """Everything of one kind that the files offer. Raises `PluginError` for a broken file.

    Who names a file means it: it is not passed over as a broken distribution is.
    """
    return [FilePoint(name, file) for file in files() for name in file.names(kind)]


def use_plugins(paths: Iterable[Path]) -> None:
    """Use these files beside those of POSEXP_PLUGINS, here and in every process started later.

    Raises `ValueError` for a path that is no plugin, `PluginError` for a file that is broken or
    offers nothing; then nothing is changed.
    """
    found = _read([*_in_environment(), *paths])
    with only(found):
        for file in found:
            if not any(file.names(kind) for kind in KINDS):
                raise PluginError(
                    f"{file.path} offers nothing: it needs a function posexp_schemes that is "
                    "marked with @hookimpl and returns a list of SchemeSpec"
                )
    _use(found)


@contextmanager
def only(chosen: Iterable[PluginFile]) -> Iterator[None]:
    """Use these files and no others meanwhile, here and in processes started meanwhile."""
    before, environment = _files, os.environ.get(ENVIRONMENT)
    _use(list(chosen))
    try:
        yield
    finally:
        _use(before)
        _export(environment)


def _in_environment() -> list[Path]:
    return [Path(p) for p in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if p]


def _read(paths: Iterable[Path]) -> list[PluginFile]:
    found: dict[str, PluginFile] = {}
    for file in map(PluginFile.read, paths):
        other = found.setdefault(file.module, file)
        if not other.path.samefile(file.path):
            raise ValueError(
                f"{other.path} and {file.path} would both be {file.module}: rename one of them"
            )
    return list(found.values())


def _use(chosen: list[PluginFile] | None) -> None:
    global _files
    _files = chosen
    if chosen is not None:
        _export(os.pathsep.join(str(file.path) for file in chosen) or None)
    for module in [name for name in sys.modules if name.startswith(f"{__name__}.")]:
        del sys.modules[module]
    registry.cache_clear()
    task_registry.cache_clear()
    family_registry.cache_clear()


def _export(value: str | None) -> None:
    if value is None:
        os.environ.pop(ENVIRONMENT, None)
    else:
        os.environ[ENVIRONMENT] = value


class _Loader(importlib.abc.SourceLoader):
    """Runs the bytes that were read; no bytecode is written beside the user's file."""

    def __init__(self, file: PluginFile) -> None:
        self._file = file

    def get_filename(self, fullname: str) -> str:
        return str(self._file.path)

    def get_data(self, path: Any) -> bytes:
        return self._file.source


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not fullname.startswith(f"{__name__}."):
            return None
        for file in files():
            if file.module == fullname:
                return importlib.util.spec_from_file_location(
                    fullname, file.path, loader=_Loader(file)
                )
        return None


sys.meta_path.append(_Finder())
