import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

import posexp.data
from posexp.data.load import load_corpus
from posexp.data.tokens import decode

CORPORA = Path(posexp.data.__file__).parent / "corpora"


@pytest.mark.parametrize(
    ("name", "n_bytes", "counts"),
    [("austen", 4_014_094, (4, 1, 1)), ("shakespeare", 4_999_630, (30, 4, 4))],
)
def test_a_bundled_corpus_is_what_its_provenance_says(name, n_bytes, counts):
    corpus = load_corpus({"name": name, "path": None, "bos": "window"})
    assert corpus.name == name
    assert sum(len(d) for d in corpus.documents) == n_bytes
    assert tuple(len(corpus.split(s)) for s in ("train", "val", "test")) == counts
    raw = (CORPORA / f"{name}.jsonl.gz").read_bytes()
    assert hashlib.sha256(raw).hexdigest() in (CORPORA / "PROVENANCE.md").read_text()
    assert (CORPORA / f"{name}.LICENSE-source.txt").is_file()
    lines = [json.loads(line) for line in gzip.decompress(raw).decode("utf-8").splitlines()]
    for document, line in zip(corpus.documents, lines, strict=True):
        assert decode(document.tokens) == line["text"]
        assert (document.id, document.split) == (line["id"], line["split"])


def test_austen_holds_out_the_two_late_novels():
    corpus = load_corpus({"name": "austen"})
    assert [d.title for d in corpus.split("test")] == ["Persuasion (1818)"]
    assert [d.title for d in corpus.split("val")] == ["Northanger Abbey (1818)"]


def test_own_text_is_loaded_split_and_named(write):
    path = write("mine.txt", "One line of text.\n" * 100)
    corpus = load_corpus({"name": "text", "path": str(path)})
    assert corpus.name == "mine.txt"
    assert [d.split for d in corpus.documents] == ["train", "val", "test"]
    assert re.fullmatch("[0-9a-f]{64}", corpus.fingerprint)


def test_the_same_text_has_the_same_fingerprint_wherever_it_lies(write):
    text = "One line of text.\n" * 100
    here, there = write("mine.txt", text), write("else/where/mine.txt", text)
    found = {load_corpus({"name": "text", "path": p}).fingerprint for p in (here, there)}
    assert len(found) == 1


def test_a_home_directory_is_expanded(write, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write("mine.txt", "line\n" * 100)
    assert load_corpus({"name": "text", "path": "~/mine.txt"}).name == "mine.txt"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "austin"}, "no corpus 'austin' .*'austen'.*austen, shakespeare, text, hf, bin"),
        ({"name": None}, "no corpus None"),
        ({"name": "austen", "path": "x.txt"}, "data.path is not for data=austen, which comes"),
        ({"name": "hf"}, "data=hf needs data.path"),
        ({"name": "text", "path": "x", "separator": 3}, "data.separator=3 is for data=bin, not da"),
        ({"name": "austen", "column": "a"}, "data.column=a is for data=text and data=hf, not"),
        ({"name": "austen", "tokenizer": "bite"}, "no tokenizer bite.*bytes, bpe, or the path"),
        ({"name": "austen", "vocabulary": 300}, "data.vocabulary=300 is for data.tokenizer=bpe"),
        (
            {"name": "austen", "tokenizer": "bpe", "vocabulary": 100},
            "data.vocabulary=100 is too small for a BPE",
        ),
        ({"name": "text", "path": None}, "data=text needs data.path"),
        ({"name": "text", "path": ""}, "data=text needs data.path"),
        ({"name": "text"}, "data=text needs data.path"),
    ],
)
def test_a_bad_config_is_one_clear_error(data, message):
    with pytest.raises(ValueError, match=message):
        load_corpus(data)


def test_an_error_of_the_split_names_the_path(write):
    with pytest.raises(ValueError, match=r"tiny\.txt: document 'tiny.txt' is too short"):
        load_corpus({"name": "text", "path": write("tiny.txt", "ab")})


def test_every_tokenizer_has_the_same_text_in_the_same_splits(write, tmp_path, monkeypatch):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path / "cache"))
    path = write("mine.txt", "One line of text, and \u00e9.\n\n" * 200)
    data = {"name": "text", "path": str(path)}
    plain = load_corpus(data)
    merged = load_corpus(data | {"tokenizer": "bpe", "vocabulary": 280})
    assert [d.id for d in merged.documents] == [d.id for d in plain.documents]
    for a, b in zip(plain.documents, merged.documents, strict=True):
        assert merged.tokenizer.decode(b.tokens).decode() == decode(a.tokens)
        assert merged.tokenizer.token_bytes[b.tokens].sum() == len(a) > 2 * len(b)
    assert merged.fingerprint != plain.fingerprint


def test_a_tokenizer_that_changes_the_text_names_the_document(write, tmp_path):
    from tokenizers import Tokenizer, normalizers

    from posexp.data.bpe import train_bpe

    library = Tokenizer.from_str(train_bpe([b"text " * 9], 260).decode())
    library.normalizer = normalizers.Lowercase()
    library.save(str(tmp_path / "lower.json"))
    data = {"name": "text", "tokenizer": str(tmp_path / "lower.json")}
    lines = "\n".join(json.dumps({"text": text}) for text in ("small", "Large", "tiny"))
    with pytest.raises(ValueError, match=r"document 'a.jsonl:2': .*lower.json does not keep"):
        load_corpus(data | {"path": write("a.jsonl", lines)})


def test_the_same_text_is_tokenized_once(write, tmp_path, monkeypatch):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path / "cache"))
    data = {"name": "text", "path": write("a.txt", "Some text. " * 200), "tokenizer": "bpe"}
    first = load_corpus(data)
    with monkeypatch.context() as patch:
        patch.setattr("posexp.data.load.tokenize", None)
        again = load_corpus(data)
    assert again.fingerprint == first.fingerprint
    write("a.txt", "Other text. " * 200)
    assert load_corpus(data).fingerprint != first.fingerprint


def test_text_may_be_in_another_column(write):
    lines = "\n".join(json.dumps({"content": f"text {n}", "text": 7}) for n in range(9))
    corpus = load_corpus({"name": "text", "path": write("a.jsonl", lines), "column": "content"})
    assert decode(corpus.documents[8].tokens) == "text 8"
