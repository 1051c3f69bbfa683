"""From a `data` config to a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from posexp.data.documents import Corpus
from posexp.data.prepared import is_prepared, open_prepared
from posexp.data.splits import assign_splits
from posexp.data.text_files import find_files, read_documents
from posexp.registry import nearest

BUNDLED = ("austen", "shakespeare")


def load_corpus(data: Mapping[str, Any]) -> Corpus:
    """The corpus of `{"name": "austen" | "shakespeare" | "text", "path": ...}`.

    `path` is for `text` alone: a .txt or .jsonl file (or .gz of either), a directory of them, or
    a directory that `posexp prepare` made, which is memory-mapped. Documents without a split are
    split by the rule in `posexp.data.splits`.

    Raises `ValueError` for a path that does not exist or cannot be read as text, naming the file
    and the place in it.
    """
    name, path = data["name"], data.get("path")
    if name in BUNDLED:
        if path is not None:
            raise ValueError(f"data.path is for data=text alone; {name} comes with the package")
        file = Path(__file__).parent / "corpora" / f"{name}.jsonl.gz"
        return load_path(file, name)
    if name != "text":
        choices = (*BUNDLED, "text")
        raise ValueError(
            f"there is no corpus {name!r}{nearest(str(name), choices)}; it is {', '.join(choices)}"
        )
    if not path:
        raise ValueError("data=text needs data.path, a text file or a directory of them")
    return load_path(Path(path).expanduser())


def load_path(path: Path, name: str | None = None) -> Corpus:
    """The corpus at a path, called by the path's last part unless `name` is given."""
    name = name or path.resolve().name
    if is_prepared(path):
        return open_prepared(path, name)
    documents = list(read_documents(find_files(path)))
    try:
        return Corpus.of(name, assign_splits(documents))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
