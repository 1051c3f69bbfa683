"""The same text through bytes and through BPE: bits per byte, by hand."""

import json
import math

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from posexp.data.load import load_corpus
from posexp.evaluation.evaluate import evaluate
from posexp.evaluation.losses import per_byte

TEXT = {
    "train": "the cat sat on the mat and the dog sat on the log " * 4,
    "val": "the dog and the cat sat on the mat " * 4,
    "test": "and the cat saw the dog that sat on the log, on that mat " * 4,
}
CONFIG = {
    "lengths": [8, 16],
    "targets": 2,
    "anchors": 1000,
    "split": "test",
    "foreign_split": "val",
    "curve_windows": 1000,
    "literature_windows": 1000,
    "batch_tokens": 64,
}


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("POSEXP_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "text.jsonl"
    path.write_text("\n".join(json.dumps({"split": s, "text": t}) for s, t in TEXT.items()))
    return {"name": "text", "path": str(path)}


def corpus_of(data, kind):
    bpe = {"tokenizer": "bpe", "vocabulary": 275} if kind == "bpe" else {}
    return load_corpus(data | bpe)


def measured(corpus, model):
    return evaluate(model, corpus, CONFIG, context_length=8, bos="window")


@pytest.mark.parametrize("kind", ["bytes", "bpe"])
def test_a_uniform_model_costs_the_tokens_of_the_text_by_its_bytes(data, kind):
    """Each token costs ln V; which bytes the targets are, the library's offsets say."""
    corpus = corpus_of(data, kind)
    v = corpus.tokenizer.vocabulary
    results, arrays = measured(corpus, lambda tokens: torch.zeros(*tokens.shape, v))
    sizes = [1] * len(TEXT["test"])
    if kind == "bpe":
        library = Tokenizer.from_str(corpus.tokenizer.content.decode())
        sizes = [b - a for a, b in library.encode(TEXT["test"]).offsets]
        assert max(sizes) > 2 and min(sizes) == 1
    scored = [sizes[a] + sizes[a + 1] for a in arrays["position"]]
    expected = 2 * len(scored) * math.log2(v) / sum(scored)
    for row in results["anchored"]:
        assert row["bits_per_byte"] == pytest.approx(expected)
    whole = [b for n in range((len(sizes) - 1) // 16) for b in sizes[1 + 16 * n : 17 + 16 * n]]
    assert results["literature"][1]["non_overlapping"] == pytest.approx(
        len(whole) * math.log2(v) / sum(whole)
    )
    tiles = np.array(whole).reshape(-1, 16)
    for bucket in results["curve"]:
        part = tiles[:, bucket["first"] : bucket["last"] + 1]
        assert bucket["count"] == part.size
        assert bucket["bits_per_byte"] == pytest.approx(part.size * math.log2(v) / part.sum())


def test_a_bigram_model_on_bpe_equals_a_loop_over_the_librarys_tokens(data):
    corpus = corpus_of(data, "bpe")
    table = torch.randn(
        *[corpus.tokenizer.vocabulary] * 2, generator=torch.Generator().manual_seed(1)
    )
    results, arrays = measured(corpus, lambda tokens: table[tokens])
    encoding = Tokenizer.from_str(corpus.tokenizer.content.decode()).encode(TEXT["test"])
    logs = torch.log_softmax(table.double(), dim=-1)
    nats = size = 0.0
    for a in arrays["position"]:
        for target in (a, a + 1):
            nats -= float(logs[encoding.ids[target - 1], encoding.ids[target]])
            size += encoding.offsets[target][1] - encoding.offsets[target][0]
    for row in results["anchored"]:
        assert row["bits_per_byte"] == pytest.approx(nats / math.log(2) / size, rel=1e-5)
        assert row["gain"] == pytest.approx(0, abs=1e-6)
    # What pairs of jobs are compared by has the same mean.
    assert arrays["anchored_8"].mean() == pytest.approx(nats / size, rel=1e-5)


def test_bos_is_the_tokenizers_own(data):
    corpus = corpus_of(data, "bpe")
    fed = []

    def model(tokens):
        fed.extend(tokens[:, 0].tolist())
        return torch.zeros(*tokens.shape, corpus.tokenizer.vocabulary)

    measured(corpus, model)
    assert set(fed) == {corpus.tokenizer.bos} and corpus.tokenizer.bos > 256


def test_nats_per_byte_scatter_as_a_ratio_does():
    """Against the standard error of a ratio from 4000 resamples of the same anchors."""
    random = np.random.default_rng(0)
    sizes = random.integers(1, 9, (400, 4))
    losses = sizes * 0.5 + random.exponential(1.0, (400, 4))
    values = per_byte(losses, sizes)
    assert values.mean() == pytest.approx(losses.sum() / sizes.sum())
    drawn = random.integers(400, size=(4000, 400))
    ratios = losses.sum(1)[drawn].sum(1) / sizes.sum(1)[drawn].sum(1)
    assert values.std(ddof=1) / 20 == pytest.approx(ratios.std(), rel=0.05)


def test_of_bytes_it_is_the_mean_of_each_anchor():
    losses = np.random.default_rng(0).random((5, 4))
    assert (per_byte(losses, np.ones((5, 4), int)) == losses.mean(axis=1)).all()
