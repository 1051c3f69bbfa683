"""From text files to a prepared directory, one document in memory at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from posexp.data.documents import Corpus, Document
from posexp.data.prepared import TOKENS, is_prepared, map_tokens, open_prepared, write_documents
from posexp.data.splits import assign_splits
from posexp.data.text_files import find_files, read_documents


def prepare(sources: Sequence[str | Path], out: str | Path) -> Corpus:
    """Tokenize the documents of `sources`, text files or directories of them, into `out`.

    The result has the same documents, splits and fingerprint as loading the text itself. `out`
    appears only when it is whole. Returns the corpus in it, memory-mapped.

    Raises `ValueError` if `out` exists and is not an empty directory or lies inside a source, if
    there are no sources, and for whatever is wrong with the text.
    """
    paths = [Path(source).expanduser() for source in sources]
    out = Path(out).expanduser()
    _check_out(out, paths)
    files = [found for path in paths for found in find_files(path)]
    out.parent.mkdir(parents=True, exist_ok=True)
    # Beside `out`, so that the finished directory can be renamed into place.
    building = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        documents = _write_tokens(building, read_documents(files))
        corpus = Corpus.of(out.name, assign_splits(documents))
        write_documents(building, corpus, [path.resolve() for path in paths])
        building.chmod(0o755)
        building.replace(out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return open_prepared(out, out.resolve().name)


def _check_out(out: Path, sources: Sequence[Path]) -> None:
    if not sources:
        raise ValueError("there is nothing to prepare: name a text file or a directory of them")
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ValueError(f"{out} exists already; name another directory or remove it first")
    for source in sources:
        if is_prepared(source):
            raise ValueError(f"{source} is prepared already; use it as data.path")
        if out.resolve().is_relative_to(source.resolve()):
            raise ValueError(f"{out} lies inside {source}, where it would be read as a source")


def _write_tokens(path: Path, documents: Iterable[Document]) -> list[Document]:
    """Write the tokens one after another; the same documents as views of the file."""
    described, start = [], 0
    with (path / TOKENS).open("wb") as file:
        for d in documents:
            d.tokens.tofile(file)
            described.append((d.id, d.title, d.split, start, start + len(d)))
            start += len(d)
    tokens = map_tokens(path)
    return [Document(i, title, split, tokens[a:b]) for i, title, split, a, b in described]
