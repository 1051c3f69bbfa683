"""Datasets that the library itself wrote, on this disk: nothing is downloaded."""

import pytest

from posexp.data.load import load_corpus
from posexp.data.prepare import prepare
from posexp.data.tokens import decode

datasets = pytest.importorskip("datasets")

ROWS = {
    name: [f"{name} text {n} ü" for n in range(count)]
    for name, count in (("train", 30), ("validation", 4), ("test", 5))
}


@pytest.fixture(autouse=True)
def offline(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()


@pytest.fixture
def saved(tmp_path):
    made = {name: datasets.Dataset.from_dict({"text": rows}) for name, rows in ROWS.items()}
    datasets.DatasetDict(made).save_to_disk(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture
def files(tmp_path):
    for name, rows in ROWS.items():
        table = datasets.Dataset.from_dict({"text": rows, "title": rows})
        table.to_parquet(tmp_path / "files" / f"{name}.parquet")
    return tmp_path / "files"


def load(path, **data):
    return load_corpus({"name": "hf", "path": str(path), **data})


def texts(corpus, split):
    return [decode(d.tokens) for d in corpus.split(split)]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("kind", ["saved", "files"])
def test_a_datasets_own_splits_are_kept(request, kind, streaming):
    corpus = load(request.getfixturevalue(kind), streaming=streaming)
    for own, name in (("train", "train"), ("validation", "val"), ("test", "test")):
        assert texts(corpus, name) == ROWS[own]
    assert corpus.split("val")[0].id == "validation:1"
    assert corpus.name == kind


def test_one_split_is_split_anew(saved):
    corpus = load(saved, split="train")
    assert sorted(t for s in ("train", "val", "test") for t in texts(corpus, s)) == sorted(
        ROWS["train"]
    )
    assert (len(corpus.split("val")), len(corpus.split("test"))) == (3, 3)
    assert corpus.name == "saved:train"


def test_a_limit_is_of_each_split(files):
    corpus = load(files, limit=4, streaming=True)
    assert [len(corpus.split(s)) for s in ("train", "val", "test")] == [4, 4, 4]


def test_preparing_a_dataset_gives_the_same_corpus(files, tmp_path):
    prepared = prepare([files], tmp_path / "out", {"name": "hf"})
    assert prepared.fingerprint == load(files).fingerprint


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"split": "trian"}, "no split 'trian'.*'train'.*it has train, validation, test"),
        ({"column": "txt"}, r"split train, row 1: no \"txt\""),
        ({"limit": 0}, "data.limit must be at least 1"),
        ({"subset": "en"}, "written by save_to_disk and has no subsets"),
    ],
)
def test_each_mistake_is_one_clear_error(saved, data, message):
    with pytest.raises(ValueError, match=message):
        load(saved, **data)


def test_a_dataset_that_is_not_there_is_one_clear_error(tmp_path):
    with pytest.raises(ValueError, match="the dataset .*nowhere cannot be loaded"):
        load(tmp_path / "nowhere")


def test_a_dataset_without_rows_is_no_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr("posexp.data.source.read_dataset", lambda data: (d for d in ()))
    with pytest.raises(ValueError, match="there are no documents in"):
        prepare([tmp_path / "none"], tmp_path / "out", {"name": "hf", "split": "train"})
