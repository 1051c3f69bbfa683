import pytest

from posexp.data.bpe import train_bpe
from posexp.data.json_tokenizer import JsonTokenizer
from posexp.data.recorded import keep_tokenizer, record_of, recorded_tokenizer
from posexp.data.tokenizer import BYTES, UnknownTokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return JsonTokenizer(train_bpe([b"some text " * 9], 260), "here", 7)


def test_the_copy_is_the_tokenizer_whatever_became_of_the_first(tokenizer, tmp_path):
    keep_tokenizer(tmp_path, tokenizer)
    found = recorded_tokenizer(tmp_path, {"tokenizer": tokenizer.record()})
    assert found.identity == tokenizer.identity and found.bos == 7


def test_bytes_need_no_copy_and_no_record(tmp_path):
    keep_tokenizer(tmp_path, BYTES)
    assert list(tmp_path.iterdir()) == []
    assert recorded_tokenizer(tmp_path, {}) is BYTES
    assert recorded_tokenizer(tmp_path, {"tokenizer": BYTES.record()}) is BYTES
    assert record_of({})["vocabulary"] == 257


def test_what_is_not_kept_is_not_there(tokenizer, tmp_path):
    assert recorded_tokenizer(tmp_path, {"tokenizer": tokenizer.record()}) is None
    assert recorded_tokenizer(tmp_path, {"tokenizer": UnknownTokenizer(9, 4).record()}) is None


def test_a_copy_that_was_changed_is_refused(tokenizer, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(train_bpe([b"other text " * 9], 260))
    with pytest.raises(ValueError, match="the tokenizer is not that of the checkpoint"):
        recorded_tokenizer(tmp_path, {"tokenizer": tokenizer.record()})
