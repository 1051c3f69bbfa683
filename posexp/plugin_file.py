"""A plugin that is a single file: what it is called, which content it has, what it offers."""

from __future__ import annotations

import dataclasses
import hashlib
import keyword
import traceback
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

from posexp.loading import Kind, PluginError, load_specs, plugin_manager, told
from posexp.registry import nearest

PACKAGE = "posexp.local"  # which finds the module of a file


@dataclasses.dataclass(frozen=True)
class PluginFile:
    """One file and its content; name and version take the place of a distribution's."""

    path: Path
    source: bytes

    @classmethod
    def read(cls, path: Path) -> PluginFile:
        """The file at `path`. Raises `ValueError` if it is none that Python could import."""
        path = path.expanduser().absolute()
        if not path.is_file():
            beside = [p.name for p in path.parent.glob("*.py")] if path.parent.is_dir() else []
            raise ValueError(f"there is no plugin file {path}{nearest(path.name, beside)}")
        if path.suffix != ".py":
            raise ValueError(f"{path} is no plugin: it must be a Python file, named *.py")
        if not path.stem.isidentifier() or keyword.iskeyword(path.stem):
            raise ValueError(
                f"{path} cannot be imported: its name must be a Python name, as in my_scheme.py"
            )
        return cls(path, path.read_bytes())

    @property
    def name(self) -> str:
        """`my_scheme.py`."""
        return self.path.name

    @property
    def version(self) -> str:
        """`sha256:` and the first 12 digits."""
        return short(self.sha256)

    @property
    def module(self) -> str:
        """`posexp.local.my_scheme`."""
        return f"{PACKAGE}.{self.path.stem}"

    @cached_property
    def sha256(self) -> str:
        """Of the content, in hexadecimal."""
        return hashlib.sha256(self.source).hexdigest()

    def load(self) -> ModuleType:
        """The module. Raises `PluginError` that names the file and the line."""
        try:
            return import_module(self.module)
        except (Exception, SystemExit) as error:
            where = _line(error, self.path)
            if where and isinstance(error, SyntaxError):
                error = type(error)(error.msg)  # its text would give the line again
            raise PluginError(f"{self.path}{where}: {told(error)}") from error

    def names(self, kind: Kind) -> list[str]:
        """What the file offers. Raises `PluginError` if that cannot be found out."""
        specs = load_specs(self.load(), kind, str(self.path), plugin_manager())
        return list(dict.fromkeys(spec.name for spec in specs))


@dataclasses.dataclass(frozen=True)
class FilePoint:
    """To the registry what an entry point of a distribution is."""

    name: str
    dist: PluginFile

    @property
    def module(self) -> str:
        """Where the scheme is imported from."""
        return self.dist.module

    def load(self) -> ModuleType:
        """The imported file."""
        return self.dist.load()


def short(sha256: str) -> str:
    """A hash as messages and tables show it."""
    return f"sha256:{sha256[:12]}"


def _line(error: BaseException, path: Path) -> str:
    """Where in the file at `path` it went wrong, if it was there."""
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}" if error.filename == str(path) else ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""
