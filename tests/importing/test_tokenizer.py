"""A checkpoint with its tokenizer.json: text in, text out, and bits per byte."""

import io
import json
import math

import pytest
import torch

from posexp.evaluation.checkpoint import evaluate_checkpoint
from posexp.generation.verb import generate
from posexp.importing.verb import import_hf

TEXT = "it is a truth universally acknowledged that a cat sat on the mat and that the cat is fat "
IDS, ROWS = 290, 301  # the model has more rows than the tokenizer has ids


def byte_level(path):
    """A BPE of 290 ids in which 0 is <s>."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=IDS, special_tokens=["<s>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator([TEXT] * 20, trainer)
    tokenizer.save(str(path))
    return tokenizer


@pytest.fixture
def spoken(save):
    """The library's model, its directory, and its tokenizer."""
    library, directory = save("llama", vocab_size=ROWS, bos_token_id=0)
    return library, directory, byte_level(directory / "tokenizer.json")


@torch.no_grad()
def test_it_goes_on_as_the_library_does(spoken, imported):
    library, directory, tokenizer = spoken
    tokens = [0, *tokenizer.encode("that the cat").ids]
    start = len(tokens)
    for _ in range(9):
        logits = library(torch.tensor([tokens]), use_cache=False).logits[0, -1]
        # Neither BOS nor a row that no token has.
        tokens.append(int(logits[1:IDS].argmax()) + 1)
    out, _ = imported(directory)
    written = io.BytesIO()
    generate(out, [b"that the cat"], max_tokens=9, out=written)
    expected = "that the cat" + tokenizer.decode(tokens[start:]) + "\n"
    assert written.getvalue().decode("utf-8", errors="replace") == expected


def test_it_is_copied_and_recorded(spoken, imported):
    _, directory, _ = spoken
    out, model = imported(directory)
    assert (out / "tokenizer.json").read_bytes() == (directory / "tokenizer.json").read_bytes()
    record = json.loads((out / "provenance.json").read_text())["tokenizer"]
    assert (record["vocabulary"], record["bos"]) == (IDS, 0)
    assert model.embedding.num_embeddings == ROWS


def test_its_losses_are_in_bits_per_byte(spoken, imported, tmp_path):
    """Of a model that knows nothing: log2(rows) bits a token, and so many tokens in the text."""
    library, directory, tokenizer = spoken
    with torch.no_grad():
        library.lm_head.weight.zero_()
    library.save_pretrained(directory)
    out, _ = imported(directory, context_length=16)
    text = TEXT * 20
    (tmp_path / "test.jsonl").write_text(json.dumps({"id": "a", "split": "test", "text": text}))
    found = evaluate_checkpoint(out, [
        "data.name=text", f"data.path={tmp_path / 'test.jsonl'}", "evaluation.lengths=[16,32]",
        "evaluation.targets=4", "evaluation.anchors=64", "evaluation.foreign_split=null",
        "evaluation.curve_windows=0", "evaluation.literature_windows=0",
    ])  # fmt: skip
    bytes_a_token = len(text) / len(tokenizer.encode(text).ids)
    for row in found["evaluation"]["anchored"]:
        assert row["bits_per_byte"] == pytest.approx(math.log2(ROWS) / bytes_a_token, rel=0.1)


def test_another_tokenizer_is_refused(spoken, imported):
    out, _ = imported(spoken[1])
    with pytest.raises(ValueError, match="the tokenizer is not that of the checkpoint"):
        evaluate_checkpoint(out, ["data.tokenizer=bytes"])


def test_ids_without_an_embedding(save, tmp_path):
    _, directory = save("llama", vocab_size=IDS - 1, bos_token_id=0)
    byte_level(directory / "tokenizer.json")
    with pytest.raises(ValueError, match="tokenizer.json has 290 ids.*embeddings for 289"):
        import_hf(directory, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_tokenizer_that_is_none(save, tmp_path):
    _, directory = save("llama")
    (directory / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="to import the weights alone, move tokenizer.json away"):
        import_hf(directory, tmp_path / "out")
    assert not (tmp_path / "out").exists()
