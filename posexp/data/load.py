"""From a `data` config to a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from posexp.data.documents import Corpus, Document, fingerprint
from posexp.data.prepared import is_prepared, open_prepared
from posexp.data.splits import assign_splits
from posexp.data.text_files import COLUMN, find_files, read_documents
from posexp.data.tokenizer import BYTES, Tokenizer
from posexp.registry import nearest

BUNDLED = ("austen", "shakespeare")
NAMES = (*BUNDLED, "text", "hf", "bin")
#: Settings that not every corpus has, and which do.
OWN_SETTINGS = {
    "column": ("text", "hf"),
    **dict.fromkeys(("subset", "split", "streaming", "limit"), ("hf",)),
    **dict.fromkeys(("separator", "dtype", "bytes_per_token"), ("bin",)),
}


def load_corpus(data: Mapping[str, Any], tokenizer: Tokenizer | None = None) -> Corpus:
    """The corpus that a file of conf/data describes; `tokenizer` instead of the one it names.

    text
        `path` is a .txt, .jsonl or .parquet file (the first two also as .gz), a directory of them,
        or a directory that `posexp prepare` made, which is memory-mapped.
    hf
        A Hugging Face dataset (`posexp.data.hub`).
    bin
        Tokens without text (`posexp.data.token_files`).

    Documents without a split are split by the rule in `posexp.data.splits`: of the text, so that
    every tokenizer has the same. Raises `ValueError` for a path that does not exist or cannot be
    read, naming the file and the place in it, and for a tokenizer that cannot be used.
    """
    name, path = data["name"], data.get("path")
    if name not in NAMES:
        raise ValueError(
            f"there is no corpus {name!r}{nearest(str(name), NAMES)}; it is {', '.join(NAMES)}"
        )
    for key, names in OWN_SETTINGS.items():
        if data.get(key) is not None and name not in names:
            raise ValueError(
                f"data.{key}={data[key]} is for data={' and data='.join(names)}, not data={name}; "
                "leave it out"
            )
    if name in BUNDLED:
        if path is not None:
            raise ValueError(f"data.path is not for data={name}, which comes with the package")
        file = Path(__file__).parent / "corpora" / f"{name}.jsonl.gz"
        return _tokenized(name, list(read_documents(find_files(file))), data, tokenizer, file)
    if not path:
        raise ValueError(f"data={name} needs data.path")
    if name == "hf":
        from posexp.data.hub import dataset_name, read_dataset

        documents = list(read_dataset(data))
        return _tokenized(dataset_name(data), documents, data, tokenizer, path)
    place = Path(path).expanduser()
    if name == "bin":
        from posexp.data.token_files import open_token_files

        return open_token_files(place, data, tokenizer)
    called = place.resolve().name
    if is_prepared(place):
        corpus = open_prepared(place, called)
        _check_prepared(corpus, data, tokenizer, place)
        return corpus
    documents = list(read_documents(find_files(place), data.get("column") or COLUMN))
    return _tokenized(called, documents, data, tokenizer, place)


def _tokenized(
    name: str,
    documents: Sequence[Document],
    data: Mapping[str, Any],
    tokenizer: Tokenizer | None,
    where: object,
) -> Corpus:
    tokenizer = tokenizer or choose_tokenizer(data)
    try:
        texts = assign_splits(documents)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    tokenizer = tokenizer or _trained(texts, data)
    if tokenizer.is_bytes:
        return Corpus.of(name, texts)
    tokens = _tokens_of(texts, tokenizer)
    documents = [replace(text, tokens=made) for text, made in zip(texts, tokens, strict=True)]
    return Corpus.of(name, documents, tokenizer)


#: The last text that was tokenized here, with what, and its tokens.
_last: tuple[str, str, list[np.ndarray]] | None = None


def _tokens_of(texts: Sequence[Document], tokenizer: Tokenizer) -> list[np.ndarray]:
    """The tokens of each text, made once for all jobs of a sweep that is being checked."""
    global _last
    text = fingerprint(texts)
    if _last is None or _last[:2] != (text, tokenizer.identity):
        _last = (text, tokenizer.identity, [d.tokens for d in tokenize(texts, tokenizer)])
    return _last[2]


def tokenize(documents: Sequence[Document], tokenizer: Tokenizer) -> list[Document]:
    """Documents of bytes as documents of tokens. Raises `ValueError` that names the document."""
    if tokenizer.is_bytes:
        return list(documents)
    found = []
    for document in documents:
        try:
            tokens = tokenizer.encode(BYTES.decode(document.tokens))
        except ValueError as error:
            raise ValueError(f"document {document.id!r}: {error}") from error
        found.append(replace(document, tokens=tokens))
    return found


def choose_tokenizer(data: Mapping[str, Any]) -> Tokenizer | None:
    """The tokenizer that a config names; None for a BPE that is yet to be trained."""
    named, vocabulary = data.get("tokenizer"), data.get("vocabulary")
    if named == "bpe":
        return None
    if vocabulary is not None:
        raise ValueError(
            f"data.vocabulary={vocabulary} is for data.tokenizer=bpe, which is trained to it; "
            "leave it out"
        )
    if named in (None, "bytes"):
        return BYTES
    from posexp.data.json_tokenizer import JsonTokenizer

    return JsonTokenizer.open(Path(named).expanduser())


def _trained(texts: Sequence[Document], data: Mapping[str, Any]) -> Tokenizer:
    from posexp.data.bpe import VOCABULARY, trained_bpe

    train = [text for text in texts if text.split == "train"]
    vocabulary = data.get("vocabulary") or VOCABULARY
    return trained_bpe((BYTES.decode(t.tokens) for t in train), vocabulary, fingerprint(train))


def _check_prepared(
    corpus: Corpus, data: Mapping[str, Any], tokenizer: Tokenizer | None, path: Path
) -> None:
    """A prepared directory has its tokenizer; one that is named as well must be the same."""
    if data.get("column") not in (None, COLUMN):
        raise ValueError(f"data.column={data['column']} is for text, and {path} is prepared")
    named = data.get("tokenizer")
    if tokenizer is None and named is None and data.get("vocabulary") is None:
        return
    if tokenizer is None and named != "bpe":
        tokenizer = choose_tokenizer(data)
    if tokenizer is None or tokenizer.identity != corpus.tokenizer.identity:
        given = "a BPE to be trained" if tokenizer is None else tokenizer.identity
        raise ValueError(
            f"{path} was prepared with {corpus.tokenizer.identity}, and the tokenizer here is "
            f"{given}; leave data.tokenizer out, or prepare the text again with it"
        )
