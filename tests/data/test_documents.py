import hashlib
from dataclasses import replace

import pytest

from posexp.data.documents import Corpus, Document, fingerprint
from posexp.data.tokens import encode


@pytest.fixture
def documents():
    return [
        Document("a", "A", "train", encode("one")),
        Document("b", "B", "test", encode("two")),
        Document("c", "C", "train", encode("three")),
    ]


def test_a_split_keeps_the_order_and_may_be_empty(documents):
    corpus = Corpus.of("c", documents)
    assert [d.id for d in corpus.split("train")] == ["a", "c"]
    assert corpus.split("val") == ()


def test_an_unknown_split_is_answered_with_the_nearest(documents):
    with pytest.raises(ValueError, match=r"'tets'.*did you mean 'test'.*train, val, test"):
        Corpus.of("c", documents).split("tets")


def test_the_fingerprint_is_the_documented_hash():
    document = Document("a", "A", "val", encode("hi"))
    stream = (
        b"\x01" + bytes(7) + b"a" + b"\x03" + bytes(7) + b"val" + b"\x02" + bytes(7) + b"h\0i\0"
    )
    assert fingerprint([document]) == hashlib.sha256(stream).hexdigest()


def test_the_fingerprint_changes_with_everything_that_changes_a_result(documents):
    a, b, c = documents
    variants = [
        documents,
        [b, a, c],
        [a, b],
        [replace(a, id="z"), b, c],
        [replace(a, split="val"), b, c],
        [replace(a, tokens=encode("onE")), b, c],
        [replace(a, tokens=encode("on")), replace(b, tokens=encode("etwo")), c],
    ]
    assert len({fingerprint(v) for v in variants}) == len(variants)
    assert fingerprint([replace(a, title="other"), b, c]) == fingerprint(documents)
