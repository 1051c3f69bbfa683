"""Whether a corpus is long enough for what is asked of it, said before any job runs."""

from __future__ import annotations

import numpy as np

from posexp.data.documents import Corpus, lengths


def check_lengths(corpus: Corpus, split: str, longest: int, context_length: int) -> None:
    """Raise one `ValueError` if the corpus cannot serve an evaluation up to length `longest`.

    A document is scored only if it has longest + 1 tokens, so that the targets are the same at
    every length; at least one document of `split` must. The train split must hold a target to
    learn from: documents shorter than `context_length` are packed, so any length will do.
    """
    if not (lengths(corpus.split("train")) > 1).any():
        having = ", ".join(f"{n} {s}" for s, n in _counts(corpus).items())
        raise ValueError(f"corpus {corpus.name}: there is nothing to train on; it has {having}")
    documents = corpus.split(split)
    if not len(documents):
        having = ", ".join(f"{n} {s}" for s, n in _counts(corpus).items())
        raise ValueError(f"corpus {corpus.name}: its {split} split is empty; it has {having}")
    sizes = lengths(documents)
    if sizes.max() > longest:
        return
    first = [documents[int(n)] for n in np.argsort(-sizes, kind="stable")[:5]]
    shown = ", ".join(f"{d.id} ({len(d)})" for d in first)
    more = f" and {len(documents) - 5} shorter" if len(documents) > 5 else ""
    usable = len(first[0]) - 1
    raise ValueError(
        f"corpus {corpus.name}: no {split} document has {longest + 1} tokens, which the longest "
        f"tested length {longest} needs (training length {context_length}); the {split} documents "
        f"are {shown}{more}. Use longer documents, or no length above {usable}"
    )


def _counts(corpus: Corpus) -> dict[str, int]:
    return {s: len(corpus.split(s)) for s in ("train", "val", "test")}
