import json
import os

import numpy as np
import pytest

import posexp.data.prepare
from posexp.data.load import load_corpus
from posexp.data.prepare import prepare
from posexp.data.prepared import verify


def described(corpus):
    return [(d.id, d.title, d.split, d.tokens.tolist()) for d in corpus.documents]


def contents(path):
    return {p.name: p.read_bytes() for p in path.iterdir() if p.is_file()}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path.parent / f"{tmp_path.name}-cache"))


@pytest.fixture
def sources(write, tmp_path):
    """One file that is cut, a directory split by whole documents, and one with splits given."""
    write("one/book.txt", "Ein Absatz mit Ümlaut.\n\n" * 80)
    for i in range(32):
        write(f"many/{i}.txt", f"text number {i}" + " and more" * (i % 7))
    write("given/a.jsonl", '{"text": "x", "split": "train"}\n{"text": "yy", "split": "test"}')
    return {name: tmp_path / name for name in ("one", "many", "given")}


BPE = {"tokenizer": "bpe", "vocabulary": 280}


@pytest.mark.parametrize("shard", [1, 100, 2**28])
@pytest.mark.parametrize("data", [{}, BPE], ids=["bytes", "bpe"])
@pytest.mark.parametrize("name", ["one", "many", "given"])
def test_preparing_and_loading_the_text_give_the_same_corpus(sources, tmp_path, name, data, shard):
    direct = load_corpus({"name": "text", "path": sources[name], **data})
    returned = prepare([sources[name]], tmp_path / "ready", data, shard=shard)
    loaded = load_corpus({"name": "text", "path": str(tmp_path / "ready")})
    assert described(loaded) == described(returned) == described(direct)
    assert loaded.fingerprint == returned.fingerprint == direct.fingerprint
    assert loaded.tokenizer.identity == direct.tokenizer.identity
    for split in ("train", "val", "test"):
        ids = [d.id for d in loaded.split(split)]
        assert ids == [d.id for d in direct.split(split)]
        assert loaded.split(split).lengths.tolist() == [len(d) for d in direct.split(split)]
    verify(tmp_path / "ready")
    shards = [p for p in (tmp_path / "ready").iterdir() if p.name.startswith("tokens-")]
    assert len(shards) == (len(direct.documents) if shard == 1 else len(shards))


def test_the_result_is_the_same_for_any_number_of_workers(sources, tmp_path, monkeypatch):
    monkeypatch.setattr("posexp.data.encode.BATCH", 50)  # several batches for each process
    prepare([sources["many"]], tmp_path / "alone", BPE, shard=100)
    prepare([sources["many"]], tmp_path / "both", BPE, workers=2, shard=100)
    assert contents(tmp_path / "alone") == contents(tmp_path / "both")
    with pytest.raises(ValueError, match="--workers must be at least 1, got 0"):
        prepare([sources["many"]], tmp_path / "none", workers=0)


def test_a_vocabulary_beyond_65536_is_uint32(sources, tmp_path, monkeypatch):
    from posexp.data.bpe import train_bpe
    from posexp.data.json_tokenizer import JsonTokenizer

    library = json.loads(train_bpe([b"text " * 9], 260))
    library["model"]["vocab"]["text"] = 70_000
    file = tmp_path / "wide.json"
    file.write_text(json.dumps(library))
    corpus = prepare([sources["many"]], tmp_path / "out", {"tokenizer": str(file)})
    assert corpus.documents[0].tokens.dtype == np.uint32
    assert JsonTokenizer.open(file).decode(corpus.documents[0].tokens).startswith(b"text number 0")
    direct = load_corpus({"name": "text", "path": sources["many"], "tokenizer": str(file)})
    assert direct.fingerprint == corpus.fingerprint
    assert 70_000 in corpus.documents[0].tokens


def test_a_progress_bar_changes_nothing(sources, tmp_path, capsys):
    prepare([sources["many"]], tmp_path / "silent", BPE)
    assert capsys.readouterr() == ("", "")
    prepare([sources["many"]], tmp_path / "shown", BPE, progress=True)
    out, told = capsys.readouterr()
    assert out == "" and "writing the index" in told
    assert contents(tmp_path / "shown") == contents(tmp_path / "silent")


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


def test_two_sources_with_one_name_are_refused(write, tmp_path, monkeypatch):
    files = [write("a/x.txt", "1"), write("b/x.txt", "2"), write("c/y.txt", "3")]
    with pytest.raises(ValueError, match=r"two documents have the id 'x\.txt'"):
        prepare(files, tmp_path / "out")
    # Beyond what is compared while reading, ids are compared at the end.
    monkeypatch.setattr("posexp.data.text_files.COMPARED", 0)
    with pytest.raises(ValueError, match=r"two documents have the id 'x\.txt': numbers 0 and 1"):
        prepare(files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("failure", ["text", "interrupt"])
def test_a_failure_before_the_first_shard_leaves_nothing_behind(
    write, tmp_path, monkeypatch, failure
):
    write("src/a.txt", "fine" * 99)
    if failure == "text":
        write("src/b.txt", b"\xff")
        expected = ValueError
    else:
        expected = KeyboardInterrupt

        def interrupt(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(posexp.data.prepare, "encoded", interrupt)
    with pytest.raises(expected):
        prepare([tmp_path / "src"], tmp_path / "out")
    assert os.listdir(tmp_path) == ["src"]
