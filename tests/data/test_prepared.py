import json
import pickle

import numpy as np
import pytest

from posexp.cli import main
from posexp.data.bpe import train_bpe
from posexp.data.load import load_corpus
from posexp.data.prepare import prepare
from posexp.data.prepared import verify
from posexp.data.windows import TrainingWindows


@pytest.fixture
def prepared(write, tmp_path):
    """Three documents of 1440, 180 and 180 bytes, cut from one text, in two files."""
    prepare([write("a.txt", "One line of text.\n" * 100)], tmp_path / "ready", shard=1500)
    return tmp_path / "ready"


def load(path, **data):
    return load_corpus({"name": "text", "path": path, **data})


def test_the_tokens_are_mapped_and_cannot_be_written(prepared):
    for document in load(prepared).documents:
        assert isinstance(document.tokens.base, np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            document.tokens[0] = 1


def test_tokens_are_plain_files_and_the_manifest_says_what_they_are(prepared):
    raw = b"".join((prepared / f"tokens-0000{n}.bin").read_bytes() for n in (0, 1))
    assert raw[::2] == b"One line of text.\n" * 100
    assert set(raw[1::2]) == {0}
    manifest = json.loads((prepared / "manifest.json").read_text())
    assert manifest["tokenizer"]["identity"] == "utf-8 bytes, BOS 256"
    assert (manifest["documents"], manifest["tokens"]) == (3, 1800)
    assert manifest["splits"]["train"] == {"documents": 1, "tokens": 1440}
    assert manifest["files"].keys() == {
        p.name for p in prepared.iterdir() if p.name != "manifest.json"
    }
    assert (manifest["format"], manifest["source"]["files"]) == (2, 1)


def test_windows_have_their_table_beside_the_tokens(prepared):
    corpus = load(prepared)
    data = TrainingWindows(corpus.split("train"), 16, 0, "window", 10)
    assert (prepared / "windows" / "train-16-window" / "whole.json").is_file()
    again = pickle.loads(pickle.dumps(data))
    assert all((again[n]["inputs"] == data[n]["inputs"]).all() for n in range(10))
    assert len(pickle.dumps(data)) < 1000  # no tokens in it
    assert len(load(prepared).documents) == 3


def truncate(path):
    (path / "tokens-00001.bin").write_bytes((path / "tokens-00001.bin").read_bytes()[:-2])


def lengthen(path):
    with (path / "tokens-00000.bin").open("ab") as file:
        file.write(b"a\0")


def drop(name):
    return lambda path: (path / name).unlink()


def edit(**changes):
    def damage(path):
        manifest = json.loads((path / "manifest.json").read_text())
        (path / "manifest.json").write_text(json.dumps(manifest | changes))

    return damage


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (truncate, "tokens-00001.bin has 358 bytes, not 360"),
        (lengthen, "tokens-00000.bin has 3242 bytes, not 3240"),
        (drop("tokens-00000.bin"), "No such file"),
        (drop("index.bin"), "No such file"),
        (drop("manifest.json"), "there is no manifest.json"),
        (lambda path: (path / "manifest.json").write_text("{"), "is not JSON"),
        (lambda path: (path / "manifest.json").write_text("[]"), "must hold one JSON object"),
        (edit(format=3), "its format is 3, not 2"),
        (edit(files=7), "AttributeError"),
        (edit(documents=4), "index.bin has 3 documents, which manifest.json disputes"),
        (edit(tokenizer={"identity": "gpt2", "bos": 0}), "No such file.*tokenizer.json"),
        (drop("train.rows"), "No such file"),
    ],
)
def test_a_damaged_directory_is_one_clear_error(prepared, damage, why):
    if why.startswith("tokens-00000"):
        why = r"tokens-00000.bin has \d+ bytes, not \d+"
    if why.startswith("tokens-00001"):
        why = r"tokens-00001.bin has \d+ bytes, not \d+"
    damage(prepared)
    with pytest.raises(ValueError, match=rf"ready is not a corpus that .*{why}.*prepare it again"):
        load(prepared)


def test_another_tokenizer_in_the_directory_is_refused(write, tmp_path):
    prepare([write("a.txt", "Some text. " * 99)], tmp_path / "ready", {"tokenizer": "bpe"})
    file = tmp_path / "ready" / "tokenizer.json"
    size = file.stat().st_size
    other = train_bpe([b"quite other words " * 99], 300)
    file.write_bytes(other[:size].ljust(size))
    with pytest.raises(ValueError, match="prepare it again"):
        load(tmp_path / "ready")


def test_the_format_before_is_refused_by_name(tmp_path):
    (tmp_path / "documents.json").write_text("{}")
    (tmp_path / "tokens.bin").write_bytes(b"a\0")
    with pytest.raises(ValueError, match="earlier version of posexp.*prepare it again"):
        load(tmp_path)


def test_verify_finds_a_changed_token(prepared, capsys):
    verify(prepared)
    assert main(["prepare", "--verify", str(prepared)]) == 0
    assert "is what posexp prepare wrote" in capsys.readouterr().out
    with (prepared / "tokens-00000.bin").open("r+b") as file:
        file.write(b"x")
    load(prepared)
    with pytest.raises(ValueError, match=r"tokens-00000.bin is not what .* wrote: SHA-256"):
        verify(prepared)


def test_a_tokenizer_that_is_named_must_be_the_directorys(prepared, tmp_path):
    assert load(prepared, tokenizer="bytes").tokenizer.is_bytes
    (tmp_path / "tokenizer.json").write_bytes(train_bpe([b"text " * 9], 260))
    for data, given in (
        ({"tokenizer": str(tmp_path)}, "tokenizer.json"),
        ({"tokenizer": "bpe"}, "a BPE to be trained"),
        ({"vocabulary": 300}, "data.vocabulary=300 is for data.tokenizer=bpe"),
        ({"column": "content"}, "data.column=content is for text"),
    ):
        with pytest.raises(ValueError, match=given):
            load(prepared, **data)
