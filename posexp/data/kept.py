"""Directories that can be made again: made once, kept where they can be, whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

WHOLE = "whole.json"


class Temporary:
    """A new directory that is deleted with this object, or at the end of the process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="posexp-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def cache_directory() -> Path:
    """Where things are kept that can be made again: $POSEXP_CACHE, or ~/.cache/posexp."""
    if given := os.environ.get("POSEXP_CACHE"):
        return Path(given).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "posexp"


def kept(place: Path | None, write: Callable[[Path], None]) -> tuple[Path, Temporary | None]:
    """The directory `place`, which `write` fills if it is not there; its last file is WHOLE.

    Several processes may make it at once: each writes the same, and the first is kept. Where
    nothing can be written, or `place` is None, it is a temporary one, the second result, which is
    None otherwise. Raises what `write` raises, unless it is an `OSError` of the place.
    """
    if place is not None and ((place / WHOLE).is_file() or _made(place, write)):
        return place, None
    temporary = Temporary()
    write(temporary.path)
    return temporary.path, temporary


def _made(place: Path, write: Callable[[Path], None]) -> bool:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError:
        return False
    try:
        write(building)
        os.replace(building, place)
    except OSError:  # no room, or another process was first
        return (place / WHOLE).is_file()
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return True
