"""Writing the page, and never over a file of somebody else's."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from posexp.files import replace

#: The last line of a page: whoever edits the page makes it theirs.
MARK = re.compile(rb"<!-- written by posexp explain, sha256 ([0-9a-f]{64}) -->\n\Z")
#: A file name does not grow further.
LONGEST = 80


def default_path(names: Sequence[str]) -> Path:
    """`explain_rope_alibi.html` in the current directory."""
    stem = re.sub(r"[^\w.-]+", "_", "_".join(["explain", *names]))
    if len(stem) > LONGEST:
        stem = f"explain_{len(names)}_schemes"
    return Path(f"{stem}.html")


def check_path(path: Path) -> None:
    """Raise `ValueError` for another kind of file, `FileExistsError` for one that is not a page.

    A page of `posexp explain` that nobody changed may be written again.
    """
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path} is no page: its name must end in .html")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {path.parent}")
    if (path.exists() or path.is_symlink()) and not _is_ours(path):
        raise FileExistsError(
            f"{path} was not written by `posexp explain`, or was changed since: choose another "
            "name with --out"
        )


def write_page(path: Path, text: str) -> None:
    """Write the page, whole or not at all. Raises as `check_path` does."""
    check_path(path)
    content = text.encode()
    digest = hashlib.sha256(content).hexdigest()
    replace(path, content + f"<!-- written by posexp explain, sha256 {digest} -->\n".encode())


def _is_ours(path: Path) -> bool:
    if not path.is_file():
        return False
    content = path.read_bytes()
    found = MARK.search(content)
    if found is None:
        return False
    return hashlib.sha256(content[: found.start()]).hexdigest() == found[1].decode()
