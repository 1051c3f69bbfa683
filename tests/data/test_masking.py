"""Masks by hand: Philox in Python integers, and the rule of which places they choose."""

import itertools

import numpy as np
import pytest
import torch

from posexp.data.masking import MaskedWindows, Masking, uniform
from posexp.data.sampler import StepSampler
from posexp.data.windows import TrainingWindows

BOS, MASK, IGNORED = 256, 257, -100
WORD = 2**64


def philox(key, counter):
    """Philox4x64-10 (Salmon et al. 2011): four words of a block."""
    c = [counter >> (64 * i) & (WORD - 1) for i in range(4)]
    k = [key & (WORD - 1), key >> 64]
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [second // WORD ^ c[1] ^ k[0], second % WORD, first // WORD ^ c[3] ^ k[1], first % WORD]
        k = [(k[0] + 0x9E3779B97F4A7C15) % WORD, (k[1] + 0xBB67AE8584CAA73B) % WORD]
    return c


def numbers(seed, stream, first, second, count):
    """In [0, 1); NumPy's generator steps before it draws."""
    words = itertools.chain.from_iterable(
        philox(seed + stream * WORD, (first * WORD + second * WORD**2) + 1 + block)
        for block in range(-(-count // 4))
    )
    return [(word >> 11) / 2**53 for word in itertools.islice(words, count)]


def masked_by_hand(inputs, rate, seed, n):
    """With MASK in all places."""
    drawn = numbers(seed, 1, n, 0, len(inputs))
    text = [i for i, token in enumerate(inputs) if token != BOS]
    count = min(len(text), max(1, round(rate * len(text))))
    chosen = set(sorted(text, key=lambda i: drawn[i])[:count])
    return (
        [MASK if i in chosen else token for i, token in enumerate(inputs)],
        [token if i in chosen else IGNORED for i, token in enumerate(inputs)],
    )


def windows(make_document, length=16, seed=3, size=200, bos="window"):
    return TrainingWindows([make_document(500)], length, seed, bos, size)


@pytest.mark.parametrize("key", [(0, 1, 0, 0), (2**64 - 1, 2, 5, 7), (3, 1, 2**64 - 1, 2**40)])
def test_numbers_are_philox(key):
    assert uniform(*key, 11).tolist() == numbers(*key, 11)


@pytest.mark.parametrize("bos", ["window", "document", "none"])
@pytest.mark.parametrize(("rate", "length"), [(0.15, 16), (0.15, 64), (0.01, 16), (0.99, 16)])
def test_against_the_rule_by_hand(make_document, bos, rate, length):
    plain = windows(make_document, length, bos=bos, size=50)
    found = MaskedWindows(plain, Masking(rate, "mask"))
    assert len(found) == 50
    for n in range(50):
        inputs, targets = masked_by_hand(plain[n]["inputs"].tolist(), rate, 3, n)
        item = found[n]
        assert item["index"] == n
        assert item["inputs"].dtype == item["targets"].dtype == torch.int64
        assert item["inputs"].tolist() == inputs
        assert item["targets"].tolist() == targets
        # Beside BOS there are L - 1 tokens: 2.25 and 9.45 of them at the usual rate.
        if bos == "window" and rate == 0.15:
            assert inputs.count(MASK) == {16: 2, 64: 9}[length]
            assert inputs[0] == BOS and targets[0] == IGNORED


def test_every_place_but_that_of_bos_is_masked_equally_often(make_document):
    """Chi-square(14) exceeds 40 once in four thousand."""
    found = MaskedWindows(windows(make_document, size=3000), Masking(0.15, "mask"))
    counts = sum((found[n]["targets"] != IGNORED).long() for n in range(3000)).tolist()
    assert counts[0] == 0 and sum(counts) == 2 * 3000
    assert sum((count - 400) ** 2 / 400 for count in counts[1:]) < 40


def test_masks_depend_on_the_seed_and_the_sample_alone(make_document):
    masking = Masking(0.3, "bert")
    found = MaskedWindows(windows(make_document), masking)
    again = MaskedWindows(windows(make_document), masking)
    for n in reversed(range(200)):
        assert all(torch.equal(again[n][key], found[n][key]) for key in ("inputs", "targets"))

    def where(data):
        return [tuple((data[n]["targets"] >= 0).tolist()) for n in range(200)]

    other = MaskedWindows(windows(make_document, seed=4), masking)
    assert len(set(where(found))) > 150
    assert sum(a == b for a, b in zip(where(found), where(other), strict=True)) < 20


@pytest.mark.parametrize(("accumulate", "ranks"), [(2, 1), (1, 2), (2, 4)])
def test_ranks_and_micro_batches_only_divide_the_samples(make_document, accumulate, ranks):
    found = MaskedWindows(windows(make_document), Masking(0.15, "mask"))
    whole = [found[n]["targets"] for step in StepSampler(0, 3, 8) for n in step]
    parts = [
        iter(StepSampler(0, 3, 8, accumulate, rank, ranks)) for rank in range(ranks)
    ]  # fresh data in each process
    fresh = [MaskedWindows(windows(make_document), found.masking) for _ in range(ranks)]
    divided = [
        fresh[rank][n]["targets"]
        for _ in range(3 * accumulate)
        for rank in range(ranks)
        for n in next(parts[rank])
    ]
    assert torch.equal(torch.stack(whole), torch.stack(divided))


def test_bert_masks_eight_of_ten_and_keeps_one(make_document):
    """The places are those of `mask`; of 1,800 each share is within four deviations."""
    plain = windows(make_document, length=64)
    bert = MaskedWindows(plain, Masking(0.15, "bert"))
    mask = MaskedWindows(plain, Masking(0.15, "mask"))
    counts = {"mask": 0, "kept": 0, "other": 0}
    for n in range(200):
        item, before = bert[n], plain[n]["inputs"]
        scored = item["targets"] >= 0
        assert torch.equal(item["targets"], mask[n]["targets"])
        assert torch.equal(item["inputs"][~scored], before[~scored])
        for now, then in zip(item["inputs"][scored], before[scored], strict=True):
            kind = "mask" if now == MASK else "kept" if now == then else "other"
            counts[kind] += 1
            assert now == MASK or now < BOS
    total = sum(counts.values())
    assert total == 200 * 9
    # A random byte is the right one in 1 of 256.
    for kind, share in (("mask", 0.8), ("kept", 0.1 + 0.1 / 256), ("other", 0.1 - 0.1 / 256)):
        assert abs(counts[kind] - share * total) < 4 * (total * share * (1 - share)) ** 0.5


def test_the_tail_of_a_pack_is_not_masked_and_counts_differ(make_document):
    documents = [make_document(n, id=str(n), start=7 * n) for n in (1, 2, 3, 5, 8, 11, 15)]
    plain = TrainingWindows(documents, 16, 0, "window", 60)
    assert plain.packed
    found = MaskedWindows(plain, Masking(0.3, "mask"))
    counts = set()
    for n in range(60):
        item, before = found[n], plain[n]
        assert torch.equal(item["documents"], before["documents"])
        assert torch.equal(item["positions"], before["positions"])
        assert ((item["inputs"] == BOS) == (before["inputs"] == BOS)).all()
        scored = item["targets"] >= 0
        assert (scored == (item["inputs"] == MASK)).all()
        assert torch.equal(item["targets"][scored], before["inputs"][scored])
        counts.add((int((before["inputs"] != BOS).sum()), int(scored.sum())))
    assert len(counts) > 1
    assert all(count == max(1, round(0.3 * text)) for text, count in counts)


def test_a_window_without_text_has_nothing_to_mask():
    inputs = np.array([BOS, BOS])
    masked, targets = Masking(0.15, "mask").masked(inputs, 0, 0)
    assert masked.tolist() == [BOS, BOS] and targets.tolist() == [IGNORED, IGNORED]


def test_a_tokenizer_of_its_own_has_another_bos_and_another_mask():
    """BOS is 1 of 9 ids, as in a tokenizer.json: it is neither masked nor drawn."""
    masking = Masking(0.9, "bert", bos=1, vocabulary=9)
    assert masking.token == 9
    inputs = np.array([1, *[0, 2, 3, 4, 5, 6, 7, 8] * 8])
    seen = set()
    for n in range(40):
        masked, targets = masking.masked(inputs, 0, n)
        assert masked[0] == 1 and targets[0] == IGNORED
        assert 1 not in masked[1:]
        seen |= set(masked[targets >= 0].tolist())
    assert seen == {0, 2, 3, 4, 5, 6, 7, 8, 9}
