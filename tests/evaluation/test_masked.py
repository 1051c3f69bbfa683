"""Masked loss against loops over single targets, with windows and masks made by hand."""

import json
import math

import numpy as np
import pytest
import torch

from posexp.data.masking import Masking, uniform
from posexp.evaluation import evaluate
from posexp.evaluation.anchors import place_anchors
from posexp.evaluation.losses import LossRunner
from posexp.evaluation.masked import MaskedBlocks, check_masked
from posexp.model import Transformer
from posexp.model.config import ModelConfig
from posexp.scheme import PositionScheme

BOS, MASK, VOCABULARY = 256, 257, 258
LONGEST, T, S = 64, 16, 4
RATE = 0.4  # 2 of 4 targets: round(1.6)
BLOCKS = {"one": [30, 34, 38, 42, 46], "two": [30, 34]}  # of documents 0 and 2
MASKING = Masking(RATE, "mask")


class BothSides:
    """Logit of v at i: 8 x its share of the window, 2 after v, 1 before v, and (i + v) % 7 / 8."""

    def __init__(self):
        self.fed = []

    def __call__(self, tokens):
        self.fed += tokens.tolist()
        one_hot = torch.nn.functional.one_hot(tokens, VOCABULARY).float()
        share = one_hot.mean(1, keepdim=True)
        left, right = one_hot.roll(1, 1), one_hot.roll(-1, 1)
        left[:, 0], right[:, -1] = 0, 0
        i = torch.arange(tokens.shape[1])[:, None]
        return 8 * share + 2 * left + right + (i + torch.arange(VOCABULARY)) % 7 / 8


class Neighbours(BothSides):
    """The same without the share and the position: what is two places away does not matter."""

    def __call__(self, tokens):
        one_hot = torch.nn.functional.one_hot(tokens, VOCABULARY).float()
        return 2 * one_hot.roll(1, 1) + one_hot.roll(-1, 1)


def reference(window, i, target):
    """Nats of `target` at place i, from the definition of `BothSides`."""
    logits = [
        8 * window.count(v) / len(window)
        + 2 * (i > 0 and window[i - 1] == v)
        + (i + 1 < len(window) and window[i + 1] == v)
        + (i + v) % 7 / 8
        for v in range(VOCABULARY)
    ]
    return math.log(sum(map(math.exp, logits))) - logits[target]


def masked_places(document, b):
    """Places of the document around block b that are masked, as far as the longest window goes."""
    first = b - 30  # ceil((64 - 4) / 2)
    drawn = uniform(0, 2, document, b, LONGEST).tolist()
    block = sorted(range(30, 34), key=lambda i: drawn[i])[:2]
    around = [i for i in range(LONGEST) if not 30 <= i < 34 and drawn[i] < RATE]
    return {first + i for i in block + around}


def blocks(model, corpus, bos="window", batch_tokens=256):
    documents = corpus.split("test")
    anchors = place_anchors(documents, LONGEST, S, 1000)
    runner = LossRunner(model, bos, batch_tokens)
    return MaskedBlocks.centred(runner, documents, anchors, MASKING, LONGEST)


@pytest.mark.parametrize("bos", ["window", "document", "none"])
@pytest.mark.parametrize("length", [5, 8, 16, 64])
def test_equals_a_loop_over_single_targets(corpus, bos, length):
    found = blocks(BothSides(), corpus, bos).losses(length)
    expected = []
    for index, name in ((0, "one"), (2, "two")):
        x = corpus.split("test")[index].tokens.tolist()
        for b in BLOCKS[name]:
            places, first = masked_places(index, b), b - math.ceil((length - S) / 2)
            window = [MASK if p in places else x[p] for p in range(first, first + length)]
            if bos == "window":
                window[0] = BOS
            targets = [p for p in range(b, b + S) if p in places]
            assert len(targets) == 2
            expected.append([reference(window, p - first, x[p]) for p in targets])
    assert found.shape == (7, 2) and found.dtype == np.float64
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_an_odd_length_has_its_extra_place_before_the_block(corpus):
    model = BothSides()
    blocks(model, corpus, "none").losses(7)
    x = corpus.split("test")[0].tokens.tolist()
    places = masked_places(0, 30)
    assert model.fed[0] == [MASK if p in places else x[p] for p in range(28, 35)]


@pytest.mark.parametrize("bos", ["window", "none"])
def test_a_place_keeps_its_mask_at_every_length(corpus, bos):
    fed = {}
    for length in (8, 16, 32, 64):
        model = BothSides()
        blocks(model, corpus, bos).losses(length)
        fed[length] = np.array(model.fed)
    for length in (8, 16, 32):
        cut = (LONGEST - length) // 2
        inner = fed[LONGEST][:, cut : LONGEST - cut]
        shared = slice(1 if bos == "window" else 0, None)  # BOS stands in the place of a token
        assert (fed[length][:, shared] == inner[:, shared]).all()
    share = (fed[LONGEST] == MASK).mean()
    assert abs(share - RATE) < 4 * math.sqrt(RATE * (1 - RATE) / fed[LONGEST].size)


def test_the_masks_are_those_of_the_block_however_many_anchors_there_are(corpus):
    documents = corpus.split("test")
    few = place_anchors(documents, LONGEST, S, 3)
    every = blocks(BothSides(), corpus)
    some = MaskedBlocks.centred(every.runner, documents, few, MASKING, LONGEST)
    where = list(zip(every.anchors.document, every.anchors.position, strict=True))
    for n, place in enumerate(zip(some.anchors.document, some.anchors.position, strict=True)):
        assert (some.masks(n) == every.masks(where.index(place))).all()


@pytest.mark.parametrize("bos", ["window", "document", "none"])
@pytest.mark.parametrize("length", [17, 32, 64])
def test_the_foreign_context_keeps_the_nearest_T_places(corpus, bos, length):
    own, foreign = BothSides(), BothSides()
    blocks(own, corpus, bos).losses(length)
    losses = blocks(foreign, corpus, bos).foreign_losses(length, corpus.split("val"), T)
    lent = [d.tokens.tolist() for d in corpus.split("val")]
    before, after = math.ceil((length - S) / 2) - 6, math.floor((length - S) / 2) - 6
    documents = [0] * 5 + [2] * 2
    for n, (mine, theirs) in enumerate(zip(own.fed, foreign.fed, strict=True)):
        assert theirs[before : before + T] == mine[before : before + T]
        masked = [i for i, token in enumerate(mine) if token == MASK]
        assert [i for i, token in enumerate(theirs) if token == MASK] == masked
        assert (theirs[0] == BOS) == (bos == "window")
        run = theirs[:before] + theirs[length - after :]
        assert any(matches(text, run) for text in lent)
        x = corpus.split("test")[documents[n]].tokens.tolist()
        first = [30, 34, 38, 42, 46, 30, 34][n] - math.ceil((length - S) / 2)
        block = range(before + 6, before + 6 + S)
        expected = [reference(theirs, i, x[first + i]) for i in block if i in masked]
        np.testing.assert_allclose(losses[n], expected, atol=1e-5)


def matches(text, run):
    """Whether `run` is somewhere in `text`, but for BOS and MASK."""
    return any(
        all(token in (BOS, MASK) or token == text[i + j] for j, token in enumerate(run))
        for i in range(len(text) - len(run) + 1)
    )


def test_lengths_share_the_nearest_foreign_tokens(corpus):
    fed = []
    for length in (32, 64):
        model = BothSides()
        blocks(model, corpus, "none").foreign_losses(length, corpus.split("val"), T)
        fed.append(np.array(model.fed))
    assert (fed[0] == fed[1][:, 16:48]).all()


def test_where_only_neighbours_count_context_changes_nothing(corpus):
    found = blocks(Neighbours(), corpus)
    short = found.losses(8)
    for length in (16, 64):
        assert np.array_equal(found.losses(length), short)
    assert np.array_equal(found.foreign_losses(64, corpus.split("val"), T), short)


def test_evaluate_gives_what_can_be_paired_and_says_what_is_left_out(corpus, config):
    results, arrays = evaluate(
        BothSides(), corpus, config, context_length=T, bos="window", masking=MASKING
    )
    assert json.loads(json.dumps(results, allow_nan=False)) == results
    assert (results["objective"], results["masked"], results["targets"]) == ("mlm", 2, 4)
    assert results["curve"] == results["literature"] == []
    assert results["curve_status"] == "not applicable"
    assert set(results["not_applicable"]) == {"curve", "literature"}
    assert [row["length"] for row in results["anchored"]] == [8, 16, 32, 64]
    assert [row["length"] for row in results["foreign"]] == [32, 64]
    names = {f"anchored_{n}" for n in (8, 16, 32, 64)} | {"foreign_32", "foreign_64"}
    assert set(arrays) == names | {"document", "position"}
    assert arrays["document"].tolist() == [0] * 5 + [2] * 2
    assert arrays["position"].tolist() == BLOCKS["one"] + BLOCKS["two"]
    made = blocks(BothSides(), corpus)
    for row in results["anchored"]:
        losses = made.losses(row["length"])
        np.testing.assert_allclose(arrays[f"anchored_{row['length']}"], losses.mean(1), atol=1e-6)
        assert row["bits_per_byte"] == pytest.approx(losses.mean() / math.log(2), abs=1e-6)
        assert row["standard_error"] > 0
    assert results["anchored"][1]["gain"] == 0


def test_bytes_are_those_of_the_masked_tokens(corpus):
    documents, sizes = corpus.split("test"), np.arange(257) % 5 + 1
    runner = LossRunner(BothSides(), "window", 256, token_bytes=sizes)
    anchors = place_anchors(documents, LONGEST, S, 1000)
    found = MaskedBlocks.centred(runner, documents, anchors, MASKING, LONGEST).sizes()
    expected = []
    for index, name in ((0, "one"), (2, "two")):
        x = documents[index].tokens.tolist()
        for b in BLOCKS[name]:
            places = masked_places(index, b)
            expected.append([x[p] % 5 + 1 for p in range(b, b + S) if p in places])
    assert found.tolist() == expected


def test_lengths_that_a_scheme_does_not_define_are_undefined(corpus, config):
    model = BothSides()
    model.max_length = T
    results, _ = evaluate(model, corpus, config, context_length=T, bos="window", masking=MASKING)
    assert [row["status"] for row in results["anchored"]] == ["ok", "ok", "undefined", "undefined"]
    assert max(map(len, model.fed)) == T


def test_replace_does_not_change_what_is_scored(corpus, config):
    how = {"context_length": T, "bos": "window"}
    config |= {"lengths": [16], "foreign_split": None}
    mask = evaluate(BothSides(), corpus, config, masking=MASKING, **how)
    bert = evaluate(BothSides(), corpus, config, masking=Masking(RATE, "bert"), **how)
    assert mask[0] == bert[0]


def test_a_real_transformer_one_window_at_a_time(corpus, config):
    torch.manual_seed(0)
    sizes = ModelConfig(n_layers=2, d_model=16, n_heads=2, causal=False)
    model = Transformer(sizes, PositionScheme(), VOCABULARY, T).eval()
    config |= {"lengths": [T]}
    # Both use the longest window for the masks, which is T here.
    results, _ = evaluate(model, corpus, config, context_length=T, bos="window", masking=MASKING)
    total = count = 0
    for index in (0, 1, 2):
        x = corpus.split("test")[index].tokens.tolist()
        for b in range(6, len(x) - 10, S):
            drawn = uniform(0, 2, index, b, T).tolist()
            block = sorted(range(6, 10), key=lambda i: drawn[i])[:2]
            around = [i for i in range(1, T) if not 6 <= i < 10 and drawn[i] < RATE]
            window = [BOS, *x[b - 5 : b + 10]]
            for i in block + around:
                window[i] = MASK
            with torch.no_grad():
                logits = model(torch.tensor([window]))[0].double().log_softmax(-1)
            total -= sum(float(logits[i, x[b - 6 + i]]) for i in block)
            count += 2
    assert results["anchors"] * 2 == count
    assert results["anchored"][0]["bits_per_byte"] == pytest.approx(
        total / count / math.log(2), abs=1e-5
    )


def test_a_block_needs_a_place_before_it(config):
    check_masked(config | {"lengths": [5, 16]}, T)
    with pytest.raises(ValueError, match=r"4 leaves nothing around targets=4.*nearest valid: 5"):
        check_masked(config | {"lengths": [4, 16]}, T)
