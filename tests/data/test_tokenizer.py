import pickle

import numpy as np
import pytest

from posexp.data.tokenizer import BYTES, UnknownTokenizer, check_tokenizer


def test_bytes_are_their_own_tokens():
    raw = "né\n".encode()
    assert BYTES.encode(raw).tolist() == list(raw)
    assert BYTES.decode(np.array([256, *raw])) == raw
    assert (BYTES.bos, BYTES.vocabulary, BYTES.dtype) == (256, 257, "<u2")
    assert BYTES.is_bytes and BYTES.token_bytes.tolist() == [1] * 256 + [0]


@pytest.mark.parametrize(("tokens", "dtype"), [(50257, "<u2"), (65535, "<u2"), (65536, "<u4")])
def test_ids_are_as_narrow_as_they_can_be(tokens, dtype):
    tokenizer = UnknownTokenizer(tokens, 4.0)
    assert tokenizer.vocabulary == tokens + 1  # BOS
    assert tokenizer.dtype == dtype
    assert np.iinfo(tokenizer.dtype).max >= tokenizer.bos


def test_without_a_tokenizer_there_is_no_text_and_all_tokens_are_as_long():
    tokenizer = UnknownTokenizer(9, 4.5)
    assert tokenizer.token_bytes.tolist() == [4.5] * 9 + [0] and not tokenizer.is_bytes
    with pytest.raises(ValueError, match=r"data\.tokenizer=.*text cannot be turned into tokens"):
        tokenizer.encode(b"a")
    with pytest.raises(ValueError, match="tokens cannot be turned into text"):
        tokenizer.decode(np.array([1]))
    assert pickle.loads(pickle.dumps(tokenizer)).identity == tokenizer.identity


def test_another_tokenizer_is_refused_by_both_names():
    check_tokenizer(BYTES.record(), BYTES, "the checkpoint")
    with pytest.raises(ValueError, match=r"not that of the checkpoint: unknown, 9 .* now, utf-8"):
        check_tokenizer(BYTES.record(), UnknownTokenizer(9, 1), "the checkpoint")
