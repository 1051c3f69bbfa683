import numpy as np
import pytest

from posexp.data import tokens


def test_a_token_is_a_utf8_byte():
    encoded = tokens.encode("aé\n")
    assert encoded.tolist() == [97, 0xC3, 0xA9, 10]
    assert encoded.dtype == np.uint16


def test_every_byte_and_bos_has_a_place_in_the_vocabulary():
    assert tokens.BOS == 256
    assert tokens.VOCABULARY == 257
    assert tokens.from_bytes(bytes(range(256))).tolist() == list(range(256))


@pytest.mark.parametrize("text", ["", "plain", "Überraschung — 漢字 🙂\r\n"])
def test_decoding_gives_the_text_back(text):
    assert tokens.decode(tokens.encode(text)) == text


def test_decoding_leaves_bos_out_and_survives_a_cut_character():
    cut = np.concatenate([[tokens.BOS], tokens.encode("né")[:-1]])
    assert tokens.decode(cut) == "n\ufffd"


def test_a_lone_surrogate_is_refused():
    with pytest.raises(UnicodeEncodeError):
        tokens.encode("\ud800")
