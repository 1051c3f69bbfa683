"""A prepared corpus of any size whose tokens take no room: files of holes, and a real index."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from posexp.data.documents import SPLITS
from posexp.data.prepared import FORMAT, INDEX, MANIFEST, NAMES, RECORD, shard_name
from posexp.data.tokenizer import BYTES

SHARD = 2**28
#: Of web text: half of the documents are shorter than this many tokens, one in ten has over 2,500.
MEDIAN, SPREAD = 550, 1.2


def make(path: Path, tokens: int) -> None:
    """Write `path` with about so many uint16 tokens, all 0, a tenth each of them val and test."""
    path.mkdir(parents=True)
    random = np.random.default_rng(0)
    mean = MEDIAN * np.exp(SPREAD**2 / 2)
    sizes = np.maximum(1, random.lognormal(np.log(MEDIAN), SPREAD, round(tokens / mean)))
    sizes = sizes.astype(np.int64)
    ends = np.cumsum(sizes)
    index = np.zeros(len(sizes), dtype=RECORD)
    index["shard"] = (ends - sizes) // SHARD
    firsts = np.searchsorted(index["shard"], np.arange(index["shard"][-1] + 1))
    index["start"] = ends - sizes - (ends - sizes)[firsts][index["shard"]]
    index["length"] = index["bytes"] = sizes
    index["split"] = random.choice(3, len(sizes), p=[0.8, 0.1, 0.1])
    names = [f"web.jsonl:{n}" for n in range(len(sizes))]
    index["id"] = index["title"] = [len(name) for name in names]
    index["name"] = np.cumsum(2 * index["id"].astype(np.int64)) - 2 * index["id"]
    (path / INDEX).write_bytes(index.tobytes())
    (path / NAMES).write_text("".join(2 * name for name in names))
    for number, split in enumerate(SPLITS):
        rows = np.flatnonzero(index["split"] == number)
        (path / f"{split}.rows").write_bytes(rows.astype("<i8").tobytes())
        (path / f"{split}.lengths").write_bytes(sizes[rows].tobytes())
    for number in range(int(index["shard"][-1]) + 1):
        with (path / shard_name(number)).open("wb") as file:
            file.truncate(2 * int(sizes[index["shard"] == number].sum()))
    files = {p.name: {"bytes": p.stat().st_size, "sha256": ""} for p in path.iterdir()}
    manifest = {
        "format": FORMAT,
        "tokenizer": BYTES.record(),
        "dtype": "<u2",
        "fingerprint": "0" * 64,
        "documents": len(sizes),
        "files": files,
    }
    (path / MANIFEST).write_text(json.dumps(manifest))
