"""Files that pyarrow writes, some in several row groups."""

import json

import pytest

from posexp.data.load import load_corpus
from posexp.data.prepare import prepare
from posexp.data.text_files import find_files, read_documents
from posexp.data.tokens import decode

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def table(tmp_path):
    def write(name="a.parquet", rows=2, **columns):
        pq.write_table(pa.table(columns), tmp_path / name, row_group_size=rows)
        return tmp_path / name

    return write


def read(path, column="text"):
    return [
        (d.id, d.title, d.split, decode(d.tokens)) for d in read_documents(find_files(path), column)
    ]


def test_a_row_is_a_document(table):
    path = table(
        text=["eins\r\n", "zwei é", "drei"],
        id=["a", None, "c"],
        title=[None, "Zwei", None],
        split=["train", "val", "test"],
        other=[1, 2, 3],
    )
    assert read(path) == [
        ("a", "a", "train", "eins\r\n"),
        ("a.parquet:2", "Zwei", "val", "zwei é"),
        ("c", "c", "test", "drei"),
    ]


def test_numbers_are_ids_and_any_column_may_be_the_text(table):
    assert read(table(content=["x", "y"], id=[7, 8]), "content") == [
        ("7", "7", "", "x"),
        ("8", "8", "", "y"),
    ]


def test_the_same_rows_as_jsonl_are_the_same_corpus(table, write, tmp_path):
    texts = [f"text number {n} ü" for n in range(30)]
    (tmp_path / "d").mkdir()
    path = table("d/x.parquet", text=texts, id=texts)
    lines = "\n".join(json.dumps({"text": text, "id": text}) for text in texts)
    other = load_corpus({"name": "text", "path": write("x.jsonl", lines)})
    assert load_corpus({"name": "text", "path": path}).fingerprint == other.fingerprint
    assert prepare([tmp_path / "d"], tmp_path / "out").fingerprint == other.fingerprint


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"texts": ["a"]}, r"no column 'text'; it has texts \(did you mean 'texts'\?\)"),
        ({"text": ["a", None]}, 'row 2: "text" must be a string, not NoneType'),
        ({"text": ["a", ""]}, 'row 2: "text" is empty'),
        ({"text": [1]}, 'row 1: "text" must be a string, not int'),
        ({"text": ["a"], "split": ["tran"]}, "row 1: there is no split 'tran'.*'train'"),
        ({"text": pa.array([], pa.string())}, "is empty: a .parquet file has one document a row"),
    ],
)
def test_an_error_names_the_file_and_the_row(table, columns, message):
    with pytest.raises(ValueError, match=rf"a\.parquet.*{message}"):
        read(table(**columns))


def test_a_file_that_is_cut_off_is_one_clear_error(table):
    path = table(text=["some text"] * 99)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"a\.parquet is not a whole parquet file"):
        read(path)


def test_a_column_where_nothing_has_columns_is_refused(write):
    with pytest.raises(ValueError, match="data.column=content is for .jsonl and .parquet files"):
        read(write("a.txt", "text"), "content")
