"""Against the library itself: its ids, its offsets, its special tokens."""

import hashlib
import json
import pickle

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from posexp.data.bpe import train_bpe
from posexp.data.json_tokenizer import JsonTokenizer

TEXT = "The cat sat on the mat.\n\nThe cätt — 漢字 🙂 sat\r\n  there.\t"


@pytest.fixture(scope="module")
def content():
    return train_bpe([TEXT.encode() * 9], 300)


@pytest.fixture
def library(content):
    return Tokenizer.from_str(content.decode())


def saved(library):
    return library.to_str().encode()


def test_ids_are_the_librarys_and_decoding_gives_the_text_back(content, library):
    tokenizer = JsonTokenizer(content, "here")
    tokens = tokenizer.encode(TEXT.encode())
    assert tokens.tolist() == library.encode(TEXT).ids
    assert tokens.dtype == np.uint16
    assert tokenizer.decode(tokens) == TEXT.encode()
    assert tokenizer.sha256 == hashlib.sha256(content).hexdigest() and tokenizer.content == content


def test_bytes_of_tokens_are_the_librarys_offsets(content, library):
    text = "The cat sat on that mat; the rest, too."  # of ASCII: a letter is a byte
    encoding = library.encode(text)
    tokenizer = JsonTokenizer(content, "here")
    assert tokenizer.token_bytes[encoding.ids].tolist() == [b - a for a, b in encoding.offsets]
    assert len(encoding.ids) < len(text)


def test_bos_is_one_id_more_where_the_file_has_none(content, library):
    tokenizer = JsonTokenizer(content, "here")
    assert tokenizer.bos == library.get_vocab_size() == tokenizer.vocabulary - 1
    assert tokenizer.token_bytes[tokenizer.bos] == 0
    assert tokenizer.identity.endswith(f"BOS {tokenizer.bos} (added)")


def test_bos_is_the_token_that_the_files_template_begins_with(library):
    library.add_special_tokens(["</s>", "<s>"])
    own = library.token_to_id("<s>")
    library.post_processor = processors.Sequence(
        [
            processors.ByteLevel(),
            processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", own)]),
        ]
    )
    tokenizer = JsonTokenizer(saved(library), "here")
    assert tokenizer.bos == own
    assert tokenizer.vocabulary == library.get_vocab_size()
    assert "(<s>)" in tokenizer.identity
    assert own not in tokenizer.encode(b"The cat")


def test_bos_is_what_tokenizer_config_says(library, tmp_path):
    library.add_special_tokens(["<|endoftext|>"])
    (tmp_path / "tokenizer.json").write_bytes(saved(library))
    config = tmp_path / "tokenizer_config.json"
    for named in ("<|endoftext|>", {"content": "<|endoftext|>"}):
        config.write_text(json.dumps({"bos_token": named}))
        tokenizer = JsonTokenizer.open(tmp_path)
        assert tokenizer.bos == library.token_to_id("<|endoftext|>")
    config.write_text(json.dumps({"bos_token": "<bos>"}))
    with pytest.raises(ValueError, match=r"names '<bos>' as BOS, and .* has no such token"):
        JsonTokenizer.open(tmp_path)


def test_a_special_token_inside_a_text_is_text(library):
    library.add_special_tokens(["<|endoftext|>"])
    tokenizer = JsonTokenizer(saved(library), "here")
    raw = b"The <|endoftext|> cat"
    assert tokenizer.decode(tokenizer.encode(raw)) == raw


def test_padding_and_truncation_of_the_file_are_off(library):
    library.enable_truncation(2)
    library.enable_padding(length=99)
    tokenizer = JsonTokenizer(saved(library), "here")
    raw = TEXT.encode()
    assert tokenizer.decode(tokenizer.encode(raw)) == raw


def sentencepiece(prepend):
    letters = ["<unk>", "▁", "a", "b", "▁a", *(f"<0x{n:02X}>" for n in range(256))]
    library = Tokenizer(
        models.BPE(
            {letter: n for n, letter in enumerate(letters)},
            [("▁", "a")],
            unk_token="<unk>",
            byte_fallback=True,
        )
    )
    replace = normalizers.Replace(" ", "▁")
    library.normalizer = (
        normalizers.Sequence([normalizers.Prepend("▁"), replace]) if prepend else replace
    )
    library.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    library.add_special_tokens(["<unk>"])
    return library


@pytest.mark.parametrize("prepend", [False, True])
def test_sentencepiece_spells_the_text_but_for_a_space_before_it(prepend):
    tokenizer = JsonTokenizer(saved(sentencepiece(prepend)), "here")
    raw = "ab a é\n".encode()
    tokens = tokenizer.encode(raw)
    assert tokenizer.decode(tokens) == (b" " if prepend else b"") + raw
    assert tokenizer.token_bytes[tokens].sum() == len(raw) + prepend


def test_a_tokenizer_that_changes_the_text_is_refused_at_the_place(library):
    library.normalizer = normalizers.Lowercase()
    tokenizer = JsonTokenizer(saved(library), "lower.json")
    assert tokenizer.decode(tokenizer.encode(b"the cat")) == b"the cat"
    with pytest.raises(ValueError, match=r"lower.json does not keep the text.*byte 4: b'Cat' bec"):
        tokenizer.encode(b"the Cat")


def test_what_it_does_not_know_is_refused():
    library = Tokenizer(models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>"))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.add_special_tokens(["<unk>"])
    with pytest.raises(ValueError, match="does not keep the text"):
        JsonTokenizer(saved(library), "here").encode(b"b")


def test_identity_is_of_the_file_and_of_bos(content):
    found = {JsonTokenizer(content, w, b).identity for w, b in [("x", None), ("y", None), ("x", 3)]}
    assert len(found) == 2


def test_it_travels_to_other_processes(content):
    tokenizer = pickle.loads(pickle.dumps(JsonTokenizer(content, "here", 7)))
    assert (tokenizer.bos, tokenizer.where) == (7, "here")
    assert tokenizer.decode(tokenizer.encode(b"The cat")) == b"The cat"


def test_errors_name_the_file_and_the_nearest(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match=r"tokenizer.json is not a tokenizer.json"):
        JsonTokenizer.open(tmp_path)
    with pytest.raises(ValueError, match=r"no tokenizer .*tokeniser.json .*'tokenizer.json'"):
        JsonTokenizer.open(tmp_path / "tokeniser.json")
    with pytest.raises(ValueError, match=r"no tokenizer .*bytes, bpe, or the path"):
        JsonTokenizer.open(tmp_path / "none" / "x")
