import gzip

import pytest

from posexp.data.text_files import find_files, read_documents
from posexp.data.tokens import decode


def read(path):
    return [(d.id, d.title, decode(d.tokens)) for d in read_documents(find_files(path))]


def test_a_text_file_is_one_document_kept_byte_for_byte(write):
    assert read(write("My book.v2.txt", "a\r\nb\t \n")) == [
        ("My book.v2.txt", "My book.v2", "a\r\nb\t \n")
    ]


def test_a_byte_order_mark_is_no_text(write):
    assert read(write("a.txt", b"\xef\xbb\xbfa"))[0][2] == "a"


def test_gzipped_files_read_as_their_content(write):
    text = read(write("a.txt.gz", gzip.compress(b"hello", mtime=0)))
    assert text == [("a.txt.gz", "a", "hello")]
    line = read(write("b.jsonl.gz", gzip.compress(b'{"text": "hi"}\n', mtime=0)))
    assert line == [("b.jsonl.gz:1", "b.jsonl.gz:1", "hi")]


def test_a_directory_is_everything_below_it_by_name_but_hidden_files(write, tmp_path):
    write("books/b.txt", "b")
    write("books/A.TXT", "A")
    write("books/deep/c.jsonl", '{"text": "c"}\n{"text": "d", "id": "own"}')
    write("books/.DS_Store", "x")
    write("books/.git/config.txt", "x")
    assert read(tmp_path / "books") == [
        ("A.TXT", "A", "A"),
        ("b.txt", "b", "b"),
        ("deep/c.jsonl:1", "deep/c.jsonl:1", "c"),
        ("own", "own", "d"),
    ]


def test_jsonl_in_the_middle_of_a_name_is_no_suffix(write):
    assert read(write("a.jsonl.txt", "not json"))[0][2] == "not json"


def test_a_missing_file_is_answered_with_the_nearest_name(write, tmp_path):
    write("persuasion.txt", "x")
    with pytest.raises(ValueError, match=r"there is no .*persuason.txt .*'persuasion.txt'"):
        find_files(tmp_path / "persuason.txt")
    with pytest.raises(ValueError, match=r"the directory .*nowhere does not exist either"):
        find_files(tmp_path / "nowhere" / "a.txt")


@pytest.mark.parametrize("name", ["a.pdf", "a", "books/a.csv", "a.gz", "a.json"])
def test_another_kind_of_file_is_refused_with_the_kinds_that_can_be_read(write, tmp_path, name):
    path = write(name, "x")
    if path.parent != tmp_path:
        path = path.parent
    with pytest.raises(ValueError, match=r"\.txt, \.txt\.gz, .*gz or \.parquet"):
        find_files(path)


def test_a_directory_without_files_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no files in it"):
        find_files(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "a.txt is empty"),
        ("a.txt", b"\xef\xbb\xbf", "a.txt is empty"),
        ("a.jsonl", b"\n", "a.jsonl is empty"),
        ("a.txt", "é".encode("latin-1"), r"not UTF-8: byte 0 \(0xe9\)"),
        ("a.txt", b"abc" + "x".encode("utf-16"), r"not UTF-8: byte 3 \(0xff\).*iconv"),
        ("a.txt", b"\xef\xbb\xbfab\xff", r"not UTF-8: byte 5 \(0xff\)"),
        ("a.txt.gz", b"plain", "not a whole gzip file: Not a gzipped file"),
        ("a.txt.gz", gzip.compress(b"hello" * 99, mtime=0)[:-12], "not a whole gzip file"),
        (
            "a.jsonl.gz",
            gzip.compress(b'{"text": "x"}' * 99, mtime=0)[:-12],
            "not a whole gzip file",
        ),
    ],
)
def test_a_bad_file_is_one_clear_error(write, name, content, message):
    with pytest.raises(ValueError, match=message):
        read(write(name, content))


def test_two_documents_of_one_id_name_both_files(write, tmp_path):
    write("d/a.jsonl", '{"text": "x", "id": "same"}')
    write("d/b.jsonl", '{"text": "y", "id": "same"}')
    with pytest.raises(ValueError, match=r"'same': one in .*a\.jsonl, one in .*b\.jsonl"):
        read(tmp_path / "d")
