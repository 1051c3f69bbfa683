import json
import math

import pytest

from posexp.files import dump_json, read_json, replace, write_json


def test_numbers_that_are_not_finite_become_null_at_any_depth():
    """P44: what is written parses under a parser that knows no NaN."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    text = dump_json({"a": [math.nan, {"b": -math.inf}], "c": 1.5, "d": (True, "NaN")})
    parsed = json.loads(text, parse_constant=refuse)
    assert parsed == {"a": [None, {"b": None}], "c": 1.5, "d": [True, "NaN"]}


def test_reading_accepts_what_other_tools_wrote_as_nan_or_too_large(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": NaN, "b": -Infinity, "c": 1e999, "d": 2}')
    assert read_json(path) == {"a": None, "b": None, "c": None, "d": 2}


@pytest.mark.parametrize(("text", "word"), [('{"a": 1', "is not JSON"), ("[1]", "one JSON object")])
def test_a_broken_file_is_named(tmp_path, text, word):
    path = tmp_path / "result.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"result\.json.*{word}"):
        read_json(path)


def test_no_file_is_none(tmp_path):
    assert read_json(tmp_path / "absent.json") is None


def test_a_file_is_whole_and_strict(tmp_path):
    path = tmp_path / "new" / "x.json"
    write_json(path, {"loss": math.nan, "step": 3})
    assert json.loads(path.read_text()) == {"loss": None, "step": 3}
    replace(path, b"again")
    assert path.read_bytes() == b"again"
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]  # nothing half-written is left
