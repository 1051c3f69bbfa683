import os

import pytest

import posexp.data.prepare
from posexp.data.load import load_corpus
from posexp.data.prepare import prepare


def described(corpus):
    return [(d.id, d.title, d.split, d.tokens.tolist()) for d in corpus.documents]


@pytest.fixture
def sources(write, tmp_path):
    """One file that is cut, a directory split by whole documents, and one with splits given."""
    write("one/book.txt", "Ein Absatz mit Ümlaut.\n\n" * 80)
    for i in range(12):
        write(f"many/{i}.txt", f"text number {i}")
    write("given/a.jsonl", '{"text": "x", "split": "train"}\n{"text": "yy", "split": "test"}')
    return {name: tmp_path / name for name in ("one", "many", "given")}


@pytest.mark.parametrize("name", ["one", "many", "given"])
def test_preparing_and_loading_the_text_give_the_same_corpus(sources, tmp_path, name):
    direct = load_corpus({"name": "text", "path": sources[name]})
    returned = prepare([sources[name]], tmp_path / "ready")
    loaded = load_corpus({"name": "text", "path": str(tmp_path / "ready")})
    assert described(loaded) == described(returned) == described(direct)
    assert loaded.fingerprint == returned.fingerprint == direct.fingerprint


def test_several_sources_are_one_corpus(write, tmp_path):
    files = [write(f"{n}.txt", n * 9) for n in "abc"]
    corpus = prepare([str(f) for f in files], tmp_path / "deep" / "ready")
    assert [d.id for d in corpus.documents] == ["a.txt", "b.txt", "c.txt"]
    assert sorted(d.split for d in corpus.documents) == ["test", "train", "val"]


def test_an_existing_directory_is_never_overwritten(sources, write, tmp_path):
    kept = write("out/mine.txt", "mine")
    with pytest.raises(ValueError, match="out exists already"):
        prepare([sources["one"]], tmp_path / "out")
    with pytest.raises(ValueError, match=r"mine\.txt exists already"):
        prepare([sources["one"]], kept)
    assert kept.read_text() == "mine"
    assert os.listdir(tmp_path / "out") == ["mine.txt"]


def test_an_empty_directory_is_filled(sources, tmp_path):
    (tmp_path / "out").mkdir()
    assert len(prepare([sources["given"]], tmp_path / "out").documents) == 2


def test_an_output_inside_a_source_is_refused(sources):
    with pytest.raises(ValueError, match="lies inside"):
        prepare([sources["one"]], sources["one"] / "ready")


def test_a_prepared_source_and_no_source_are_refused(sources, tmp_path):
    prepare([sources["one"]], tmp_path / "ready")
    with pytest.raises(ValueError, match=r"is prepared already; use it as data.path"):
        prepare([tmp_path / "ready"], tmp_path / "again")
    with pytest.raises(ValueError, match="nothing to prepare"):
        prepare([], tmp_path / "none")


def test_two_sources_with_one_name_are_refused(write, tmp_path):
    with pytest.raises(ValueError, match=r"two documents have the id 'x\.txt'"):
        prepare([write("a/x.txt", "1"), write("b/x.txt", "2")], tmp_path / "out")


@pytest.mark.parametrize("failure", ["text", "interrupt"])
def test_a_failure_leaves_nothing_behind(write, tmp_path, monkeypatch, failure):
    write("src/a.txt", "fine" * 99)
    if failure == "text":
        write("src/b.txt", b"\xff")
        expected = ValueError
    else:
        expected = KeyboardInterrupt

        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(posexp.data.prepare, "write_documents", interrupt)
    with pytest.raises(expected):
        prepare([tmp_path / "src"], tmp_path / "out")
    assert os.listdir(tmp_path) == ["src"]
