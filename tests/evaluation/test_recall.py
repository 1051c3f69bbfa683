"""Models that are known to find every answer, none, or as many as chance does."""

import numpy as np
import pytest
import torch

from posexp import build_task
from posexp.data.documents import Corpus, Document
from posexp.evaluation.recall import recall, wilson

T = 32
SETTINGS = {
    "lengths": [16, 32, 128], "targets": 4, "anchors": 4, "split": "test", "foreign_split": None,
    "curve_windows": 0, "literature_windows": 0, "batch_tokens": 512,
}  # fmt: skip


class Model:
    """Logits (B, L, V) that are 1 at `guess(inputs so far)` for the last position of each row."""

    def __init__(self, guess, max_length=None):
        self.guess, self.max_length, self.seen = guess, max_length, []

    def __call__(self, tokens):
        self.seen.append(tokens)
        logits = torch.zeros(*tokens.shape, 257)
        for row, inputs in enumerate(tokens.tolist()):
            logits[row, -1, self.guess(inputs)] = 1.0
        return logits


def look_up(inputs):
    """What stood after the last token where it stood before."""
    return inputs[inputs.index(inputs[-1]) + 1]


def another_key(inputs):
    """The value of some other key: right by luck alone."""
    return next(
        inputs[i + 1]
        for i, t in enumerate(inputs[:-1])
        if t >= 0xF5 and t != inputs[-1] and t < 256
    )


@pytest.fixture
def corpus():
    letters = np.random.default_rng(0).integers(97, 123, (3, 700)).astype(np.uint16)
    names = ("train", "val", "test")
    return Corpus.of("toy", [Document(n, n, n, t) for n, t in zip(names, letters, strict=True)])


@pytest.fixture
def task():
    return build_task({"name": "needle", "needles": 4, "questions": 1, "windows": 200}, T)


def measure(model, corpus, task):
    return recall(model, corpus, SETTINGS, task, context_length=T, bos="window")


def test_a_model_that_looks_the_key_up_is_right_at_every_distance(corpus, task):
    found = measure(Model(look_up), corpus, task)
    expected = [(n, d) for n in (16, 32, 128) for d in (n // 8, n // 4, n // 2, n * 7 // 8)]
    assert [(row["length"], row["distance"]) for row in found["rows"]] == expected
    assert {row["accuracy"] for row in found["rows"]} == {1.0}
    assert all(row["high"] == pytest.approx(1) for row in found["rows"])
    assert all(row["low"] == pytest.approx(0.9812, abs=1e-4) for row in found["rows"])
    assert [row["length"] for row in found["lengths"]] == [16, 32, 128]
    assert found["windows"] == 200


def test_a_model_that_knows_the_alphabet_alone_is_at_chance(corpus, task):
    for guess in (lambda inputs: ord("e"), another_key):
        found = measure(Model(guess), corpus, task)
        for row in found["lengths"]:  # 800 windows each
            assert row["accuracy"] == pytest.approx(1 / 26, abs=0.03)
            assert row["low"] < row["accuracy"] < row["high"]
    assert found["chance"] == 1 / 26


def test_a_length_that_the_model_does_not_define_is_no_number(corpus, task):
    rows = measure(Model(look_up, max_length=T), corpus, task)["lengths"]
    assert [row["status"] for row in rows] == ["ok", "ok", "undefined"]
    assert rows[2]["accuracy"] is None and rows[2]["low"] is None


def test_logits_that_are_no_numbers_are_no_answers(corpus, task):
    found = measure(lambda tokens: torch.full((*tokens.shape, 257), torch.nan), corpus, task)
    assert {row["status"] for row in found["rows"]} == {"diverged"}


def test_every_model_is_shown_the_same_windows(corpus, task):
    one, two = Model(look_up), Model(lambda inputs: 0)
    measure(one, corpus, task)
    measure(two, corpus, task)
    assert len(one.seen) == len(two.seen)
    assert all(torch.equal(a, b) for a, b in zip(one.seen, two.seen, strict=True))


@pytest.mark.parametrize(("hits", "n"), [(1, 10), (64, 128), (127, 128)])
def test_the_interval_ends_where_the_share_is_1_96_deviations_away(hits, n):
    """Its definition: the p for which |hits / n - p| = z sqrt(p (1 - p) / n)."""
    for p in wilson(hits / n, n):
        assert abs(hits / n - p) / (p * (1 - p) / n) ** 0.5 == pytest.approx(1.959964, abs=1e-6)


def test_the_interval_has_a_width_where_all_is_lost():
    low, high = wilson(0.0, 20)
    assert low == 0 and high == pytest.approx(3.841459 / 23.841459, abs=1e-6)
