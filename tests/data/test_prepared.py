import json

import numpy as np
import pytest

from posexp.data.load import load_corpus
from posexp.data.prepare import prepare


@pytest.fixture
def prepared(write, tmp_path):
    prepare([write("a.txt", "One line of text.\n" * 100)], tmp_path / "ready")
    return tmp_path / "ready"


def test_the_tokens_are_mapped_and_cannot_be_written(prepared):
    corpus = load_corpus({"name": "text", "path": prepared})
    for document in corpus.documents:
        assert isinstance(document.tokens.base, np.memmap)
        with pytest.raises(ValueError, match="read-only"):
            document.tokens[0] = 1


def test_the_directory_is_two_plain_files(prepared):
    assert sorted(p.name for p in prepared.iterdir()) == ["documents.json", "tokens.bin"]
    raw = (prepared / "tokens.bin").read_bytes()
    assert raw[::2] == b"One line of text.\n" * 100
    assert set(raw[1::2]) == {0}
    header = json.loads((prepared / "documents.json").read_text())
    assert header["tokenizer"] == "utf-8 bytes, BOS 256"
    assert [d["start"] for d in header["documents"]] == [0, 1440, 1620]


def truncate(path):
    (path / "tokens.bin").write_bytes((path / "tokens.bin").read_bytes()[:-2])


def lengthen(path):
    with (path / "tokens.bin").open("ab") as file:
        file.write(b"a\0")


def drop_tokens(path):
    (path / "tokens.bin").unlink()


def drop_documents(path):
    (path / "documents.json").unlink()


def break_json(path):
    (path / "documents.json").write_text("{")


def edit(**changes):
    def damage(path):
        header = json.loads((path / "documents.json").read_text())
        (path / "documents.json").write_text(json.dumps(header | changes))

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        lengthen,
        drop_tokens,
        drop_documents,
        break_json,
        edit(format=2),
        edit(tokenizer="gpt2"),
        edit(documents=[{"id": "a"}]),
        edit(documents=7),
        lambda path: (path / "documents.json").write_text("[]"),
        lambda path: (path / "tokens.bin").write_bytes(b""),
    ],
)
def test_a_damaged_directory_is_one_clear_error(prepared, damage):
    damage(prepared)
    with pytest.raises(ValueError, match=r"ready is not a corpus that .* prepare it again"):
        load_corpus({"name": "text", "path": prepared})
