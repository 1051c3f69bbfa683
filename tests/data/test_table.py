"""The table in files against the one in memory, and against a plain list of all windows."""

import os

import numpy as np
import pytest

import posexp.data.table
from posexp.data.documents import ChosenDocuments, Document, MappedDocuments
from posexp.data.packing import plan_packs
from posexp.data.table import window_table
from posexp.data.windows import TrainingWindows


class Filed(MappedDocuments):
    """Documents in memory that say they are in files."""

    def __init__(self, documents, home=None):
        self._documents = documents
        self.home = home
        self.name = "train"
        self.lengths = np.array([len(d) for d in documents])

    def document(self, n):
        return self._documents[n]

    def of_split(self, name):
        return Filed([d for d in self._documents if d.split == name])


@pytest.fixture
def documents(make_document):
    random = np.random.default_rng(0)
    sizes = [*random.integers(0, 40, 60), 1, 0, 200]
    return [make_document(int(n), f"d{i}", start=i) for i, n in enumerate(sizes)]


def every(table):
    return [table.find(pair) for pair in range(table.pairs)]


@pytest.mark.parametrize("bos", ["window", "none"])
@pytest.mark.parametrize("length", [1, 8, 30])
def test_pairs_are_all_windows_in_order_and_then_packs(documents, length, bos):
    found = every(window_table(documents, length, bos))
    first = 0 if bos == "window" else 1
    windows = [
        (n, offset)
        for n, document in enumerate(documents)
        for offset in range(max(0, len(document) - first - length + 1))
    ]
    assert found[: len(windows)] == windows
    short = [n for n, d in enumerate(documents) if len(d) - first < length]
    packs = plan_packs([len(documents[n]) - first for n in short], length)
    expected = [[short[i] for i in pack] for pack in packs]
    weights = [sum(len(documents[n]) - first for n in pack) for pack in expected]
    assert found[len(windows) :] == [
        p for p, w in zip(expected, weights, strict=True) for _ in range(w)
    ]


@pytest.mark.parametrize("kept", [True, False])
def test_documents_in_files_have_the_same_table_in_files(documents, tmp_path, kept):
    table = window_table(Filed(documents, tmp_path / "home" if kept else None), 8, "window")
    assert isinstance(table.long_ends, np.memmap)
    assert every(table) == every(window_table(documents, 8, "window"))


def test_it_is_made_once_for_each_length_and_rule(documents, tmp_path, monkeypatch):
    filed = Filed(documents, tmp_path)
    for length, bos in ((8, "window"), (9, "window"), (8, "none")):
        window_table(filed, length, bos)
    assert sorted(os.listdir(tmp_path)) == ["train-8-none", "train-8-window", "train-9-window"]
    expected = every(window_table(documents, 8, "window"))
    monkeypatch.setattr(posexp.data.table, "plan_packs", None)
    assert every(window_table(filed, 8, "window")) == expected


def test_a_directory_that_cannot_be_written_is_no_obstacle(documents, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way of the home")
    table = window_table(Filed(documents, tmp_path / "file" / "home"), 8, "window")
    assert every(table) == every(window_table(documents, 8, "window"))


def test_a_damaged_table_is_named(documents, tmp_path):
    filed = Filed(documents, tmp_path)
    window_table(filed, 8, "window")
    column = tmp_path / "train-8-window" / "long.bin"
    column.write_bytes(column.read_bytes()[:-8])
    with pytest.raises(ValueError, match="train-8-window is damaged; delete it"):
        window_table(filed, 8, "window")


def test_many_short_documents_are_packed_with_their_neighbours(documents, monkeypatch):
    monkeypatch.setattr(posexp.data.table, "NEIGHBOURS", 16)
    table = window_table(documents, 32, "window")
    packs = [n for n in every(table) if isinstance(n, list)]
    short = [n for n, d in enumerate(documents) if len(d) < 32]
    assert {n for pack in packs for n in pack} == {n for n in short if len(documents[n])}
    groups = [set(short[i : i + 16]) for i in range(0, len(short), 16)]
    assert all(any(set(pack) <= group for group in groups) for pack in packs)


def test_samples_do_not_depend_on_where_documents_lie(documents, tmp_path):
    here = TrainingWindows(documents, 8, 5, "window", 200)
    there = TrainingWindows(Filed(documents, tmp_path), 8, 5, "window", 200)
    for n in range(200):
        a, b = here[n], there[n]
        assert a.keys() == b.keys()
        assert all((a[key] == b[key]).all() for key in a if key != "index")


def test_longer_documents_are_chosen_in_order(documents):
    chosen = Filed(documents).longer(30)
    assert isinstance(chosen, ChosenDocuments)
    assert [d.id for d in chosen] == [d.id for d in documents if len(d) > 30]
    assert chosen.lengths.tolist() == [len(d) for d in documents if len(d) > 30]
    assert list(Filed([Document("a", "a", "val", np.zeros(3, "<u2"))]).longer(3)) == []


def test_a_sequence_has_an_end(documents):
    filed = Filed(documents)
    assert filed[-1].id == documents[-1].id
    assert [d.id for d in filed[1:3]] == [d.id for d in documents[1:3]]
    with pytest.raises(IndexError, match="no document 63 of 63"):
        filed[63]
