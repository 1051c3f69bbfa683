import json
from pathlib import Path

import pytest

from posexp.data.jsonl import read_jsonl
from posexp.data.tokens import decode

FILE = Path("some/books.jsonl")


def read(*lines):
    raw = [line if isinstance(line, bytes) else line.encode("utf-8") for line in lines]
    return list(read_jsonl([line + b"\n" for line in raw], "books.jsonl", FILE))


def test_a_line_is_a_document():
    lines = [
        json.dumps({"text": "Erste Zeile\nÄ", "id": "a", "title": "A!", "split": "val"}),
        json.dumps({"text": "b", "extra": [1]}),
        "",
        json.dumps({"text": "c", "id": 7}),
    ]
    documents = read(*lines)
    assert [(d.id, d.title, d.split) for d in documents] == [
        ("a", "A!", "val"),
        ("books.jsonl:2", "books.jsonl:2", ""),
        ("7", "7", ""),
    ]
    assert decode(documents[0].tokens) == "Erste Zeile\nÄ"


def test_a_byte_order_mark_is_no_text():
    assert decode(read(b'\xef\xbb\xbf{"text": "a"}')[0].tokens) == "a"


GOOD = '{"text": "fine"}'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "cut', "line 2: not JSON: Unterminated string.* column 10"),
        ("plain text", "line 2: not JSON: Expecting value"),
        ('["text"]', 'line 2: expected an object with "text", not list'),
        ('{"txt": "a", "n": 1}', "line 2: no \"text\"; it has 'txt', 'n'.*did you mean 'txt'"),
        ("{}", 'line 2: no "text"; it has no keys'),
        ('{"text": ""}', 'line 2: "text" is empty'),
        ('{"text": 3}', 'line 2: "text" must be a string, not int'),
        ('{"text": null}', 'line 2: "text" must be a string, not NoneType'),
        ('{"text": "a", "id": true}', 'line 2: "id" must be a string, not bool'),
        ('{"text": "a", "title": ["x"]}', 'line 2: "title" must be a string, not list'),
        ('{"text": "a", "split": "tran"}', "line 2: there is no split 'tran'.*'train'"),
        ('{"text": "a", "split": ""}', "line 2: there is no split ''"),
        ('{"text": "\\ud800"}', "line 2: not Unicode text: surrogates not allowed"),
        ('{"text": "a", "id": "\\ud800"}', "line 2: not Unicode text"),
        # Line 1 with its newline is 17 bytes, and 10 stand before the bad one.
        (b'{"text": "\xff"}', r"line 2: not UTF-8: byte 27 of the file \(0xff\)"),
    ],
)
def test_an_error_names_file_line_and_cause(line, message):
    with pytest.raises(ValueError, match=f"^some/books.jsonl, {message}"):
        read(GOOD, line)


@pytest.mark.parametrize("lines", [(), ("",), ("", "  ")])
def test_a_file_without_a_document_is_empty(lines):
    with pytest.raises(ValueError, match=r"some/books.jsonl is empty"):
        read(*lines)
