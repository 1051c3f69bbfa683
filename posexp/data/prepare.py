"""From text to a prepared directory: little in memory, and an interrupted run can go on."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from posexp.data.documents import Corpus
from posexp.data.encode import encoded
from posexp.data.finish import clean, finish
from posexp.data.json_tokenizer import FILE, JsonTokenizer
from posexp.data.load import choose_tokenizer
from posexp.data.prepared import FORMAT, MANIFEST, is_prepared, open_prepared
from posexp.data.shards import PARTIAL, ShardWriter, committed, write_bytes, write_whole
from posexp.data.source import Source, open_source, train_texts
from posexp.data.splits import stream_splits
from posexp.data.tokenizer import Tokenizer
from posexp.files import read_json

PLAN = "plan.json"
#: Tokens of a shard, after which an interrupted run goes on.
SHARD = 2**28
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def prepare(
    sources: Sequence[str | Path],
    out: str | Path,
    data: Mapping[str, Any] | None = None,
    workers: int = 1,
    progress: bool = False,
    shard: int = SHARD,
) -> Corpus:
    """Tokenize the documents of `sources` into `out`; the result is the corpus in it, mapped.

    It has the same documents, splits and fingerprint as loading the text itself. `data` has the
    settings of conf/data that say how text is read and tokenized; `name` is `hf` for sources that
    are datasets of Hugging Face.

    `out` appears only when it is whole. Until then all is in `.OUT.partial` beside it, where the
    same call goes on after the last whole shard of `shard` tokens, whatever ended the first.

    Raises `ValueError` if `out` exists and is not an empty directory or lies inside a source, if
    there are no sources, for whatever is wrong with the text, and where the disk is full.
    With `workers` above 1 as many processes tokenize; the result is the same.
    """
    out = Path(out).expanduser()
    data = {"name": "text", **(data or {})}
    if workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")
    _check_out(out, sources, data["name"] == "text")
    chosen = choose_tokenizer(data)
    source = open_source(sources, data)
    named = ("column", "vocabulary", "split", "subset", "limit")
    plan = {
        "format": FORMAT,
        "sources": source.description,
        "tokenizer": "bpe" if chosen is None else chosen.identity,
        "shard": shard,
        **{key: data.get(key) for key in named},
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    building = out.with_name(f".{out.name}.partial")
    with _building(building, plan):
        if not (building / MANIFEST).is_file():
            with source.shown(progress) as read:
                tokenizer = chosen or _trained(building, source, data)
                shards = ShardWriter(building, tokenizer.dtype, shard)
                with closing(read()) as documents, closing(shards):
                    stream = islice(stream_splits(documents), shards.documents, None)
                    for document, size in encoded(stream, tokenizer, workers):
                        shards.add(document, size)
                    shards.commit()
                if not shards.committed:
                    raise ValueError(f"there are no documents in {', '.join(map(str, sources))}")
                finish(building, shards.committed, tokenizer, source.record)
        clean(building)
        os.replace(building, out)
        (out / PLAN).unlink()  # last: without it all would begin anew
    return open_prepared(out, out.resolve().name)


def _trained(building: Path, source: Source, data: Mapping[str, Any]) -> Tokenizer:
    """The BPE of the train split, from an earlier run of this preparation or trained now."""
    from posexp.data.bpe import VOCABULARY, train_bpe

    file = building / FILE
    if not file.is_file():
        texts = train_texts(source.read)
        write_bytes(file, train_bpe(texts, data.get("vocabulary") or VOCABULARY))
    return JsonTokenizer(file.read_bytes(), str(file))


def _check_out(out: Path, sources: Sequence[str | Path], files: bool) -> None:
    if not sources:
        raise ValueError("there is nothing to prepare: name a text file or a directory of them")
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ValueError(f"{out} exists already; name another directory or remove it first")
    for source in [Path(source).expanduser() for source in sources] if files else ():
        if is_prepared(source):
            raise ValueError(f"{source} is prepared already; use it as data.path")
        if out.resolve().is_relative_to(source.resolve()):
            raise ValueError(f"{out} lies inside {source}, where it would be read as a source")


@contextmanager
def _building(building: Path, plan: Mapping[str, Any]) -> Iterator[None]:
    """Hold the directory of an unfinished preparation; empty unless it is of the same plan.

    Whatever ends it early, what is whole is kept, the rest deleted, and the user told.
    """
    building.mkdir(exist_ok=True)
    held = os.open(building, os.O_RDONLY)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(f"another posexp prepare is writing {building} now") from error
        with _told(building):
            before = read_json(building / PLAN)
            if before != plan:
                if before is not None:
                    print(
                        f"{building} was begun from other text or settings: anew", file=sys.stderr
                    )
                for path in building.iterdir():
                    path.unlink()
                write_whole(building / PLAN, plan)
            yield
    finally:
        os.close(held)


@contextmanager
def _told(building: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        for path in building.glob(f"*{PARTIAL}"):
            path.unlink()
        manifest = read_json(building / MANIFEST)  # all is done but the renaming
        shards = committed(building)
        done = sum(s["documents"] for s in shards) if manifest is None else manifest["documents"]
        if not done:
            shutil.rmtree(building, ignore_errors=True)
        kept = f"{done} documents are kept in {building}" if done else "nothing was kept"
        again = "the same command " + ("goes on from there" if done else "begins again")
        if isinstance(error, OSError) and error.errno in FULL:
            raise ValueError(
                f"the disk is full, or files may not grow further ({error.strerror}): make room; "
                f"{kept}, and {again}"
            ) from error
        if done and not isinstance(error, ValueError):  # else the text has to change first
            print(f"posexp: {kept}; {again}", file=sys.stderr)
        raise
