import json

import pytest

from posexp.data.bpe import train_bpe, trained_bpe
from posexp.data.json_tokenizer import JsonTokenizer
from posexp.data.load import load_corpus


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_merges_are_those_worked_out_by_hand():
    """Words of "aaab aaab aab": (a,a) comes 5 times, then (aa,a) or (aa,b)."""
    described = json.loads(train_bpe([b"aaab aaab aab"], 257))
    assert described["model"]["merges"] == [["a", "a"]]


def test_every_byte_is_a_token_and_the_vocabulary_is_as_asked():
    tokenizer = JsonTokenizer(train_bpe([b"the cat sat on the mat " * 20], 265), "here")
    assert tokenizer.vocabulary == 265 + 1
    assert {piece for piece in tokenizer.pieces if len(piece) == 1} == {
        bytes([n]) for n in range(256)
    }
    raw = "Ünseen 漢".encode()
    assert tokenizer.decode(tokenizer.encode(raw)) == raw


def test_training_twice_gives_the_same_file():
    texts = [f"number {n} of many, {n * n}".encode() for n in range(200)]
    assert train_bpe(texts, 400) == train_bpe(texts, 400)


def test_only_the_train_split_is_looked_at(write):
    lines = [("train", "abab " * 99), ("val", "xyxy " * 99), ("test", "zwzw " * 99)]
    path = write("a.jsonl", "\n".join(json.dumps({"split": s, "text": t}) for s, t in lines))
    corpus = load_corpus({"name": "text", "path": path, "tokenizer": "bpe", "vocabulary": 260})
    longer = {piece for piece in corpus.tokenizer.pieces if len(piece) > 1}
    assert b"ab" in longer
    assert not any(set(piece) & set(b"xyzw") for piece in longer)


def test_it_is_trained_once_and_kept(cache):
    def never():
        raise AssertionError("trained again")
        yield

    first = trained_bpe([b"the cat " * 9], 260, "one")
    assert trained_bpe(never(), 260, "one").identity == first.identity
    assert [p.name.startswith("bpe-260-") for p in cache.iterdir()] == [True]
    trained_bpe([b"the dog " * 9], 260, "two")
    trained_bpe([b"the cat " * 9], 261, "one")
    assert len(list(cache.iterdir())) == 3


def test_fewer_tokens_than_bytes_are_refused():
    with pytest.raises(ValueError, match=r"data.vocabulary=256 is too small.*at least 257"):
        train_bpe([b"text"], 256)
