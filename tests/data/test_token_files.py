import json
import pickle

import numpy as np
import pytest

import posexp.data.token_index
from posexp.data.bpe import train_bpe
from posexp.data.load import load_corpus
from posexp.data.windows import TrainingWindows

END = 9


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def directory(tmp_path):
    """Documents of 3, 1 and 4 tokens with a separator after each and one too many; one val."""
    path = tmp_path / "tokens"
    path.mkdir()
    train = [1, 2, 3, END, 4, END, END, 5, 6, 7, 8, END]
    np.array(train, "<u2").tofile(path / "train.bin")
    np.array([8, 7, 6, 5], "<u2").tofile(path / "val.bin")
    return path


def load(directory, **data):
    settings = {"vocabulary": 10, "bytes_per_token": 4.5, **data}
    return load_corpus({"name": "bin", "path": str(directory), **settings})


def test_documents_stand_between_separators(directory):
    corpus = load(directory, separator=END)
    assert [(d.id, d.tokens.tolist()) for d in corpus.split("train")] == [
        ("train:0", [1, 2, 3]),
        ("train:1", [4]),
        ("train:2", [5, 6, 7, 8]),
    ]
    assert [d.split for d in corpus.documents] == ["train"] * 3 + ["val"]
    assert len(corpus.documents) == 4 and list(corpus.split("test")) == []
    assert (corpus.name, corpus.tokenizer.bos) == ("tokens", 10)
    assert (corpus.tokenizer.token_bytes[:10] == 4.5).all()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_documents_are_the_same_however_the_file_is_read(directory, monkeypatch, size):
    whole = [d.tokens.tolist() for d in load(directory, separator=END).documents]
    monkeypatch.setenv("POSEXP_CACHE", str(directory / "another"))

    def chunks(array, size=size):
        return (np.asarray(array[n : n + size]) for n in range(0, len(array), size))

    monkeypatch.setattr(posexp.data.token_index, "in_chunks", chunks)
    assert [d.tokens.tolist() for d in load(directory, separator=END).documents] == whole


def test_without_a_separator_a_file_is_one_document(directory):
    corpus = load(directory)
    (document,) = corpus.split("train")
    assert document.tokens.tolist() == np.fromfile(directory / "train.bin", "<u2").tolist()
    assert isinstance(document.tokens.base, np.memmap)


def test_windows_are_drawn_and_short_documents_packed_with_masks(directory):
    corpus = load(directory, separator=END)
    data = TrainingWindows(corpus.split("train"), 4, 0, "window", 40, corpus.tokenizer.bos)
    seen = {tuple(data[n]["inputs"].tolist()): data[n] for n in range(40)}
    assert seen.keys() == {(10, 5, 6, 7), (10, 1, 2, 10)}
    assert seen[10, 1, 2, 10]["documents"].tolist() == [0, 0, 0, 1]
    assert seen[10, 1, 2, 10]["targets"].tolist() == [1, 2, 3, 4]


def test_the_vocabulary_may_stand_in_meta_json(directory):
    (directory / "meta.json").write_text(json.dumps({"vocab_size": 50}))
    assert load(directory, vocabulary=None).tokenizer.vocabulary == 51
    assert load(directory, vocabulary=12).tokenizer.vocabulary == 13


def test_meta_pkl_is_never_opened(directory):
    (directory / "meta.pkl").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(ValueError, match=r"needs data.vocabulary.*meta.pkl is not opened"):
        load(directory, vocabulary=None)


def test_ids_beyond_65536_are_uint32(tmp_path):
    np.array([70_000, 1, 2], "<u4").tofile(tmp_path / "train.bin")
    corpus = load(tmp_path, vocabulary=100_000, dtype="uint32")
    assert corpus.documents[0].tokens.tolist() == [70_000, 1, 2]
    assert corpus.tokenizer.dtype == "<u4"


def test_a_tokenizer_gives_tokens_their_bytes(directory):
    file = directory / "tokenizer.json"
    file.write_bytes(train_bpe([b"abc"], 257))
    corpus = load(directory, vocabulary=None, bytes_per_token=None, tokenizer=str(file))
    assert (corpus.tokenizer.token_bytes[corpus.documents[0].tokens] == 1).all()


def test_the_index_is_made_once_and_again_for_another_file(directory, cache, monkeypatch):
    first = load(directory, separator=END).fingerprint
    kept = sorted(cache.rglob("whole.json"))
    monkeypatch.setattr(posexp.data.token_index, "_write_index", None)
    assert load(directory, separator=END).fingerprint == first
    monkeypatch.undo()
    monkeypatch.setenv("POSEXP_CACHE", str(cache))
    np.array([1, 2], "<u2").tofile(directory / "val.bin")
    assert load(directory, separator=END).fingerprint != first
    assert len(sorted(cache.rglob("whole.json"))) == len(kept) + 1


def test_it_travels_to_other_processes(directory):
    split = pickle.loads(pickle.dumps(load(directory, separator=END).split("train")))
    assert [d.tokens.tolist() for d in split] == [[1, 2, 3], [4], [5, 6, 7, 8]]


def cut(path):
    (path / "train.bin").write_bytes((path / "train.bin").read_bytes()[:-1])


def empty(path):
    (path / "train.bin").write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "settings", "message"),
    [
        (cut, {}, r"train.bin has 23 bytes, which are no tokens of 2 bytes each: it is cut off"),
        (empty, {}, r"train.bin has 0 bytes"),
        (lambda p: (p / "train.bin").unlink(), {}, "has no train.bin"),
        (None, {"vocabulary": 9}, r"train.bin: token 3 is 9, and ids end at 8 \(data.vocabulary\)"),
        (None, {"vocabulary": 0}, "needs data.vocabulary"),
        (None, {"bytes_per_token": None}, "needs data.tokenizer.*or data.bytes_per_token"),
        (None, {"bytes_per_token": 0}, "needs data.tokenizer.*or data.bytes_per_token"),
        (None, {"tokenizer": "x.json"}, "data.bytes_per_token is for tokens without a tokenizer"),
        (None, {"separator": 10}, "data.separator must be an id, 0 to 9, got 10"),
        (None, {"dtype": "int64"}, "data.dtype must be uint16 or uint32, got int64"),
        (None, {"tokenizer": "bpe"}, "data.tokenizer=bpe does not go with data=bin"),
    ],
)
def test_each_mistake_is_one_clear_error(directory, damage, settings, message):
    if damage is not None:
        damage(directory)
    with pytest.raises(ValueError, match=message):
        load(directory, **settings)
