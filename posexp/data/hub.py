"""Datasets of Hugging Face, from the hub, a directory or their cache (extra `hf`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from posexp.data.documents import Document
from posexp.data.jsonl import COLUMN, document_of
from posexp.registry import nearest

#: What their splits are called here.
SPLIT_NAMES = {"train": "train", "validation": "val", "val": "val", "dev": "val", "test": "test"}


def read_dataset(data: Mapping[str, Any]) -> Iterator[Document]:
    """The documents of a dataset, one a row, read as they are asked for.

    `path` is a name on the hub, a directory of data files, or what `save_to_disk` wrote; `subset`
    one of its configurations. With `split` only that one is read, and its documents are split
    anew by the rule in `posexp.data.splits`; without, its own train, validation and test are kept.
    Text is in `column`. `streaming` reads rows as they are needed, instead of building a local
    copy first. `limit` stops after so many documents of each split.

    Raises `ValueError` for what is not there, naming the nearest.
    """
    column, limit = data.get("column") or COLUMN, data.get("limit")
    if limit is not None and limit < 1:
        raise ValueError(f"data.limit must be at least 1, or null for all, got {limit}")
    for name, rows in _load(data).items():
        split = "" if data.get("split") else _own_split(name, data["path"])
        for number, row in enumerate(islice(rows, limit), 1):
            where = f"{data['path']}, split {name}, row {number}"
            own = {key: row[key] for key in row if key not in ("id", "split")}
            kept = {key: value for key, value in own.items() if key != "title" or value}
            found = document_of(kept, f"{name}:{number}", where, column)
            yield replace(found, split=split)


def dataset_name(data: Mapping[str, Any]) -> str:
    """What the corpus is called: the last part of its path, and its subset and split if named."""
    parts = [Path(data["path"]).name, data.get("subset"), data.get("split")]
    return ":".join(part for part in parts if part)


def _load(data: Mapping[str, Any]) -> dict[str, Any]:
    """Split -> its rows."""
    try:
        import datasets
    except ImportError as error:
        raise ValueError("data=hf needs the library datasets: pip install 'posexp[hf]'") from error
    path, subset, wanted = data["path"], data.get("subset"), data.get("split")
    place = Path(path).expanduser()
    saved = (place / "dataset_dict.json").is_file() or (place / "state.json").is_file()
    try:
        if saved and subset is not None:
            raise ValueError(f"{path} was written by save_to_disk and has no subsets")
        found = (
            datasets.load_from_disk(place)
            if saved
            else datasets.load_dataset(
                str(place) if place.exists() else path,
                subset,
                streaming=bool(data.get("streaming")),
            )
        )
    except Exception as error:  # the library raises whatever its loaders do
        raise ValueError(
            f"the dataset {path} cannot be loaded ({type(error).__name__}: {error})"
        ) from error
    splits = dict(found) if hasattr(found, "keys") else {str(found.split or "train"): found}
    if wanted is None:
        return splits
    if wanted not in splits:
        raise ValueError(
            f"the dataset {path} has no split {wanted!r}{nearest(wanted, splits)}; it has "
            f"{', '.join(splits)}"
        )
    return {wanted: splits[wanted]}


def _own_split(name: str, path: str) -> str:
    if name not in SPLIT_NAMES:
        raise ValueError(
            f"the dataset {path} has a split {name!r}, which is none of "
            f"{', '.join(SPLIT_NAMES)}; choose one with data.split"
        )
    return SPLIT_NAMES[name]
