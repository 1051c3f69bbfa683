"""Documents of bytes to documents of tokens, in their order, also by several processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor

from posexp.data.documents import Document
from posexp.data.load import tokenize
from posexp.data.tokenizer import Tokenizer

#: Bytes of text that a process is given at a time.
BATCH = 2**20
Encoded = tuple[Document, int]
"""A document of tokens, and the bytes of its text."""


def encoded(
    documents: Iterable[Document], tokenizer: Tokenizer, workers: int, batch: int | None = None
) -> Iterator[Encoded]:
    """Every document in order, whatever `workers` is; little is in memory at a time.

    With `workers` above 1 as many processes encode, and this one reads and writes. Raises what
    `tokenize` raises.
    """
    batches = _batches(documents, BATCH if batch is None else batch)
    if workers == 1:
        for some in batches:
            yield from _encode(some, tokenizer)
        return
    # Spawned: the library tokenizers has threads, which do not survive a fork.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _begin, (tokenizer,))
    waiting: deque[Future[list[Encoded]]] = deque()
    try:
        for some in batches:
            waiting.append(pool.submit(_encode_here, some))
            if len(waiting) > 2 * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _batches(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    some: list[Document] = []
    held = 0
    for document in documents:
        some.append(document)
        held += len(document)
        if held >= size:
            yield some
            some, held = [], 0
    if some:
        yield some


def _encode(documents: list[Document], tokenizer: Tokenizer) -> list[Encoded]:
    tokens = tokenize(documents, tokenizer)
    return [(made, len(text)) for made, text in zip(tokens, documents, strict=True)]


_tokenizer: Tokenizer


def _begin(tokenizer: Tokenizer) -> None:
    global _tokenizer
    _tokenizer = tokenizer
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # One that was killed cannot tell its pool, which would wait for ever.
    multiprocessing.parent_process().join()
    os._exit(1)


def _encode_here(documents: list[Document]) -> list[Encoded]:
    return _encode(documents, _tokenizer)
