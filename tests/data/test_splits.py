import hashlib

import numpy as np
import pytest

from posexp.data.documents import SPLITS, Document
from posexp.data.splits import HeldOut, assign_splits, digest, stream_splits
from posexp.data.tokens import decode, encode


def unsplit(text, id="x"):
    return Document(id, id.title(), "", encode(text))


def texts(pieces):
    return {p.split: decode(p.tokens) for p in pieces}


@pytest.mark.parametrize(("count", "held_out"), [(3, 1), (9, 1), (19, 1), (20, 2), (101, 10)])
def test_whole_documents_a_tenth_each_and_no_split_empty(count, held_out):
    pieces = assign_splits([unsplit("text", f"doc{i}") for i in range(count)])
    assert [p.id for p in pieces] == [f"doc{i}" for i in range(count)]
    splits = [p.split for p in pieces]
    assert (splits.count("test"), splits.count("val")) == (held_out, held_out)
    assert splits.count("train") == count - 2 * held_out


def test_the_held_out_documents_are_the_first_by_the_hash_of_their_ids():
    ids = [f"doc{i}" for i in range(30)]
    longest = "doc7"
    pieces = assign_splits([unsplit("longest" if i == longest else "text", i) for i in ids])
    order = sorted(
        (i for i in ids if i != longest), key=lambda i: hashlib.sha256(i.encode()).hexdigest()
    )
    assert {p.id for p in pieces if p.split == "test"} == set(order[:3])
    assert {p.id for p in pieces if p.split == "val"} == set(order[3:6])


def test_the_order_of_documents_does_not_matter():
    documents = [unsplit("text", f"doc{i}") for i in range(12)]
    forwards = {p.id: p.split for p in assign_splits(documents)}
    assert {p.id: p.split for p in assign_splits(documents[::-1])} == forwards


@pytest.mark.parametrize("longest", range(6))
def test_the_longest_document_always_trains(longest):
    documents = [unsplit("x" * (50 if i == longest else 5), f"doc{i}") for i in range(6)]
    assert assign_splits(documents)[longest].split == "train"


def test_given_splits_are_kept():
    documents = [Document("a", "A", "test", encode("x")), Document("b", "B", "test", encode("y"))]
    assert assign_splits(documents) == documents


def test_some_with_and_some_without_is_an_error():
    documents = [Document("a", "A", "test", encode("x")), unsplit("y", "b")]
    with pytest.raises(ValueError, match=r"'b' has no split, but 'a' has one \(test\)"):
        assign_splits(documents)


def test_one_document_is_cut_at_paragraphs_into_three():
    text = "".join(f"Paragraph {i:02}.\nSecond line.\n\n" for i in range(50))
    pieces = assign_splits([unsplit(text)])
    assert [(p.id, p.title) for p in pieces] == [
        ("x#train", "X (train)"),
        ("x#val", "X (val)"),
        ("x#test", "X (test)"),
    ]
    cut = texts(pieces)
    assert "".join(cut[s] for s in ("train", "val", "test")) == text
    assert {name: piece.count("Paragraph") for name, piece in cut.items()} == {
        "train": 40,
        "val": 5,
        "test": 5,
    }
    assert all(p.startswith("Paragraph") and p.endswith(".\n\n") for p in cut.values())


def test_two_documents_are_both_cut():
    pieces = assign_splits([unsplit("a b " * 100, "x"), unsplit("c d " * 100, "y")])
    assert [p.id for p in pieces] == [f"{i}#{s}" for i in "xy" for s in ("train", "val", "test")]


@pytest.mark.parametrize(
    ("unit", "end"),
    [
        ("line one\r\n\r\nmore text\r\n\r\n", "\r\n\r\n"),
        ("no blank lines here\n", "\n"),
        ("words ", " "),
        ("漢", "漢"),
    ],
)
def test_a_cut_is_at_the_best_boundary_there_is(unit, end):
    text = unit * 100
    cut = texts(assign_splits([unsplit(text)]))
    assert "".join(cut[s] for s in ("train", "val", "test")) == text
    assert "\ufffd" not in "".join(cut.values())
    assert all(piece.endswith(end) for piece in cut.values())
    share = {name: len(piece) / len(text) for name, piece in cut.items()}
    assert share == pytest.approx({"train": 0.8, "val": 0.1, "test": 0.1}, abs=0.03)


def test_the_cut_of_every_short_text_is_whole_or_refused():
    for n in range(1, 60):
        try:
            pieces = assign_splits([unsplit("é" * n)])
        except ValueError as error:
            assert f"too short to be cut into train, val and test: it has {2 * n} bytes" in str(
                error
            )
            assert n < 20
        else:
            assert "".join(texts(pieces).values()) == "é" * n
            assert all(len(p) for p in pieces)


@pytest.mark.parametrize("count", [3, 4, 9, 20, 101])
@pytest.mark.parametrize("longest", [0, 1, 2])
def test_held_out_documents_are_the_same_by_their_digests_alone(count, longest):
    documents = [unsplit("x" * (9 if i == longest else 5), f"doc{i}") for i in range(count)]
    digests = np.array([digest(d.id) for d in documents], dtype=np.uint64)
    rule = HeldOut.of(np.sort(digests), digest(f"doc{longest}"))
    assert [SPLITS[code] for code in rule.codes(digests)] == [
        d.split for d in assign_splits(documents)
    ]


def test_a_digest_is_the_beginning_of_the_hash():
    assert f"{digest('doc7'):016x}" == hashlib.sha256(b"doc7").hexdigest()[:16]


@pytest.mark.parametrize("count", [1, 2])
def test_a_stream_of_few_documents_is_cut_as_a_list_is(count):
    documents = [unsplit("a b " * 100, str(n)) for n in range(count)]
    found, expected = list(stream_splits(documents)), assign_splits(documents)
    assert [(d.id, d.split, decode(d.tokens)) for d in found] == [
        (d.id, d.split, decode(d.tokens)) for d in expected
    ]


def test_a_stream_of_many_keeps_what_it_has_and_is_not_read_ahead():
    documents = [unsplit("text", f"doc{i}") for i in range(9)]
    assert list(stream_splits(documents)) == documents
    given = [Document(str(n), "", "test", encode("x")) for n in range(9)]
    assert list(stream_splits(given)) == given
    stream = stream_splits([*given, unsplit("y", "b")])
    assert [next(stream).id for _ in range(9)] == [d.id for d in given]
    with pytest.raises(ValueError, match=r"'b' has no split, but '0' has one \(test\)"):
        next(stream)
