"""The n-gram models beside the schemes: what counting the last few bytes already reaches.

They are counted once per corpus and kept in `ngram.json` beside the report, so that it can be made
again where the corpus is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from posexp.files import read_json, write_json
from posexp.report.jobs import Job

ORDERS = (3, 5)


def ngram_rows(
    out: Path, jobs: Sequence[Job], split: str, sweeps: Sequence[Path] = ()
) -> dict[str, float]:
    """{"order_3": bits per byte, ...} for the corpus of `jobs`; {} where it cannot be had.

    Trained on the train split, measured on every byte of `split`. `ngram.json` maps
    "corpus:split" to these rows; those of `sweeps` are looked at too, and what none has is counted
    and added to that of `out`.
    """
    described = next((job for job in jobs if job.evaluation), None)
    if described is None:
        return {}
    path = out / "ngram.json"
    known = read_json(path) or {}
    elsewhere = [read_json(sweep / "ngram.json") or {} for sweep in sweeps]
    fingerprint = described.facts.get("corpus_fingerprint")
    key = f"{fingerprint or described.facts.get('corpus')}:{split}"
    for found in elsewhere:
        if key in found:
            return found[key]
    if key not in known:
        rows = count(described.config.get("data") or {}, split, fingerprint)
        if not rows:
            return {}
        known[key] = rows
        write_json(path, known)
    return known[key]


def count(data: Mapping[str, Any], split: str, fingerprint: str | None) -> dict[str, float]:
    """Bits per byte of each order of `ORDERS`; {} where the text is gone or no longer the same."""
    from posexp.data.load import load_corpus
    from posexp.data.ngram import bits_per_byte, bytes_of

    try:
        corpus = load_corpus(data)
        if fingerprint not in (None, corpus.fingerprint):
            return {}
        train, test = bytes_of(corpus, "train"), bytes_of(corpus, split)
        return {f"order_{order}": bits_per_byte(train, test, order) for order in ORDERS}
    except (KeyError, OSError, ValueError):
        return {}
