import pytest
from tokenizers import pre_tokenizers

from posexp.data.byte_level import byte_letters, pieces


def test_letters_are_those_of_the_library():
    letters = byte_letters()
    assert sorted(letters) == sorted(pre_tokenizers.ByteLevel.alphabet())
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for text in ("a b\n", "é—漢🙂", "\x00\x7f\xa0\xad"):
        ((spelled, _),) = split.pre_tokenize_str(text)
        assert bytes(letters[letter] for letter in spelled) == text.encode()


def byte_level(**vocabulary):
    return {"model": {"vocab": vocabulary}, "decoder": {"type": "ByteLevel"}}


def test_byte_level_tokens_spell_bytes_and_special_ones_nothing():
    described = byte_level(a=0, Ġb=1, Ã=2) | {
        "added_tokens": [
            {"id": 3, "content": "<|end|>", "special": True},
            {"id": 4, "content": "  é", "special": False},
        ]
    }
    assert pieces(described) == {0: b"a", 1: b" b", 2: b"\xc3", 3: b"", 4: "  é".encode()}


def test_sentencepiece_tokens_spell_text_with_its_letter_for_a_space():
    described = {
        "model": {"vocab": [["<unk>", 0], ["▁a", -1.0], ["é", -2.0], ["<0xE2>", -3.0]]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Metaspace"}]},
        "added_tokens": [{"id": 0, "content": "<unk>", "special": True}],
    }
    assert pieces(described) == {0: b"", 1: b" a", 2: "é".encode(), 3: b"\xe2"}


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (byte_level(漢=0), "'漢' is not byte-level"),
        ({"model": {"vocab": {"a": 0}}, "decoder": {"type": "WordPiece"}}, "parts: WordPiece"),
        ({"model": {"vocab": {"a": 0}}}, "parts: none"),
    ],
)
def test_tokens_that_do_not_spell_their_text_are_refused(described, message):
    with pytest.raises(ValueError, match=message):
        pieces(described)
