"""The n-gram model against a plain loop over dictionaries, and against the published baselines."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from posexp.data.documents import Document
from posexp.data.load import load_corpus
from posexp.data.ngram import bits_per_byte, bytes_of
from posexp.data.tokens import encode


def bits_by_dictionaries(train, text, order):
    """The bits of all bytes of `text` but the first order-1, whose context is not whole."""
    following = defaultdict(Counter)
    for book in train:
        for i in range(len(book)):
            for n in range(min(order - 1, i) + 1):
                following[book[i - n : i]][book[i]] += 1

    def probability(context, byte):
        shorter = probability(context[1:], byte) if context else 1 / 256
        if context not in following:
            return shorter
        counts = following[context]
        distinct, total = len(counts), sum(counts.values())
        return (counts[byte] + distinct * shorter) / (total + distinct)

    return sum(
        -math.log2(probability(text[i - order + 1 : i], text[i]))
        for i in range(order - 1, len(text))
    )


def documents(texts):
    return [Document(str(i), "", "train", encode(t)) for i, t in enumerate(texts)]


@pytest.mark.parametrize("order", [1, 2, 3, 5, 7])
def test_bits_are_those_of_a_plain_loop(order):
    """Where the context is whole: at a document's start the loop has no BOS to look at."""
    train = ["the cat sat on the mat", "a cat is a cat, é"]
    text = "the cattle sat on that\x7f"
    whole = bits_per_byte(documents(train), documents([text]), order) * len(text)
    expected = bits_by_dictionaries([t.encode() for t in train], text.encode(), order)
    assert whole - bits_of_the_start(train, text, order) == pytest.approx(expected, abs=1e-9)


def bits_of_the_start(train, text, order):
    """The bits of the first order-1 bytes, by the same model on that beginning alone."""
    if order == 1:
        return 0.0
    begin = text[: order - 1]
    return bits_per_byte(documents(train), documents([begin]), order) * len(begin)


def test_two_bytes_by_hand():
    """After "aab": N(a)=2, U=2 over N=3 in the empty context; after "a": a once, b once."""
    train = documents(["aab"])
    p_b = (1 + 2 / 256) / 5
    assert bits_per_byte(train, documents(["b"]), 1) == pytest.approx(-math.log2(p_b))
    p_a_at_start = (1 + 1 * (2 + 2 / 256) / 5) / 2
    p_b_after_a = (1 + 2 * p_b) / 4
    expected = -(math.log2(p_a_at_start) + math.log2(p_b_after_a)) / 2
    assert bits_per_byte(train, documents(["ab"]), 2) == pytest.approx(expected)


def test_probabilities_of_all_bytes_sum_to_one():
    train = documents(["abracadabra", "bra"])
    total = 0.0
    context = "abra"
    base = bits_per_byte(train, documents([context]), 4) * len(context)
    for byte in range(256):
        tokens = np.append(encode(context), byte).astype("<u2")
        bits = bits_per_byte(train, [Document("", "", "", tokens)], 4) * len(tokens) - base
        total += 2.0**-bits
    assert total == pytest.approx(1.0, abs=1e-9)


def test_a_context_never_crosses_documents():
    """One document "ab" teaches that b follows a; two documents "a" and "b" do not."""
    test = documents(["ab"])
    joined = bits_per_byte(documents(["ab" * 9]), test, 2)
    apart = bits_per_byte(documents(["a", "b"] * 9), test, 2)
    assert joined < apart - 0.4


def test_the_start_of_a_document_is_no_byte():
    """A document that starts with b teaches nothing of b after a zero byte."""
    train = documents(["b"])
    p_b = (1 + 1 / 256) / 2
    p_other = (1 / 256) / 2
    expected = -(math.log2(p_other / 2) + math.log2(p_other) + math.log2(p_b)) / 3
    assert bits_per_byte(train, documents(["a\0b"]), 2) == pytest.approx(expected)


@pytest.mark.parametrize(("order", "expected"), [(3, 2.774), (5, 2.034)])
def test_austen_reproduces_the_published_baseline(order, expected):
    corpus = load_corpus({"name": "austen"})
    found = bits_per_byte(corpus.split("train"), corpus.split("test"), order)
    assert found == pytest.approx(expected, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "split", "order", "expected"),
    [
        ("austen", "test", 6, 1.976),
        ("austen", "val", 5, 1.948),
        ("shakespeare", "test", 3, 2.973),
        ("shakespeare", "test", 5, 2.419),
    ],
)
def test_the_other_published_baselines(name, split, order, expected):
    corpus = load_corpus({"name": name})
    found = bits_per_byte(corpus.split("train"), corpus.split(split), order)
    assert found == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("train", "test", "order", "message"),
    [
        (["a"], ["a"], 0, "order must be 1 to 7, not 0"),
        (["a"], ["a"], 8, "order must be 1 to 7, not 8"),
        ([], ["a"], 2, "needs train documents"),
        (["a"], [], 2, "needs test documents"),
    ],
)
def test_bad_input_is_one_clear_error(train, test, order, message):
    with pytest.raises(ValueError, match=message):
        bits_per_byte(documents(train), documents(test), order)


def test_the_text_is_counted_whatever_its_tokens_are(write, tmp_path, monkeypatch):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path / "cache"))
    data = {"name": "text", "path": write("a.txt", "The cat sat — é.\n\n" * 90)}
    plain = load_corpus(data)
    merged = load_corpus(data | {"tokenizer": "bpe", "vocabulary": 270})
    for split in ("train", "test"):
        found, expected = bytes_of(merged, split), bytes_of(plain, split)
        assert [d.tokens.tolist() for d in found] == [d.tokens.tolist() for d in expected]
    monkeypatch.setattr("posexp.data.ngram.MAX_TOKENS", 100)
    with pytest.raises(ValueError, match="train has more than 100 tokens"):
        bytes_of(plain, "train")
