"""Windows read token by token, without the task's own arithmetic."""

import numpy as np
import pytest

from posexp import build_task

BOS = 256
KEYS = range(0xF5, 0x100)


def make(*, context_length=64, needles=4, questions=3, **settings):
    chosen = {"needles": needles, "questions": questions, **settings}
    return build_task({"name": "needle", **chosen}, context_length)


def text(length):
    """BOS and `length` letters of a rising alphabet in capitals, so that gaps would show."""
    return np.array([BOS, *(ord("A") + i % 26 for i in range(length))])


def pairs(tokens):
    """(place, key, value) of every key in the window."""
    return [(i, int(t), int(tokens[i + 1])) for i, t in enumerate(tokens[:-1]) if t in KEYS]


def rest(tokens):
    skip = {j for i, *_ in pairs(tokens) for j in (i, i + 1)}
    return [int(t) for i, t in enumerate(tokens) if i not in skip]


def test_no_key_is_ever_part_of_a_text():
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)])).encode()
    assert not set(KEYS) & set(every)


@pytest.mark.parametrize("seed", range(20))
def test_a_training_window_asks_for_what_it_planted_and_for_nothing_else(seed):
    before = text(64)
    tokens, scored = make().training_window(before, np.random.default_rng(seed))
    values = {}
    for i, key, value in pairs(tokens):
        assert chr(value).islower()
        assert not scored[i], "which key comes next cannot be known"
        assert scored[i + 1] == (key in values), "a value is asked for once it is known"
        assert values.setdefault(key, value) == value
    found = len(pairs(tokens))
    assert len(values) == 4 and found in (8, 12, 16)
    assert scored.sum() == 64 - found - 4
    assert not scored[0]
    kept = rest(tokens)
    assert kept == list(before[: len(kept)]) and len(tokens) == 65


@pytest.mark.parametrize("length", [32, 64, 128, 512])
def test_a_test_window_asks_at_its_end_for_the_needle_at_the_distance(length):
    task, before = make(), text(length)
    assert task.distances(length) == [length // 8, length // 4, length // 2, length * 7 // 8]
    for distance in task.distances(length):
        tokens, scored = task.test_window(before, distance, np.random.default_rng(distance))
        assert list(np.flatnonzero(scored)) == [length]
        *needles, (last, asked, answer) = sorted(pairs(tokens))
        assert last == length - 1
        assert {i: value for i, key, value in needles if key == asked} == {last - distance: answer}
        assert len({key for _, key, _ in needles}) == len(needles) == 4
        assert rest(tokens) == list(before[: length + 1 - 10])


def test_places_and_answers_vary():
    task = make()
    drawn = [task.training_window(text(64), np.random.default_rng(n))[0] for n in range(400)]
    counts = np.bincount([len(pairs(tokens)) for tokens in drawn])
    assert all(100 < counts[n] < 170 for n in (8, 12, 16))
    places = np.bincount([i for t in drawn for i, *_ in pairs(t)], minlength=64)
    assert places[0] == 0 and (places[1:64] > 0).all()
    answers = [task.test_window(text(64), 16, np.random.default_rng(n))[0][-1] for n in range(2000)]
    shares = np.bincount(answers, minlength=257)[ord("a") : ord("z") + 1] / 2000
    assert shares.sum() == 1
    assert abs(shares - 1 / 26).max() < 5 * (1 / 26 / 2000) ** 0.5


def test_a_window_too_short_for_the_needles_is_left_out():
    assert make(needles=4).distances(15) == []
    assert make(needles=11, questions=1, context_length=88).distances(43) == []
    shortest = make(needles=1, questions=1)
    assert shortest.distances(16) == [2, 4, 8, 14]
    tokens, _ = shortest.test_window(text(16), 14, np.random.default_rng(0))
    assert [i for i, *_ in pairs(tokens)] == [1, 15]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"needles": 12}, "needles must be 1 to 11.*nearest valid: 11"),
        ({"needles": 0}, "nearest valid: 1"),
        ({"share": 1.0}, r"share must be in \[0, 1\)"),
        ({"questions": 0}, "questions must be at least 1"),
        ({"windows": 0}, "windows must be at least 1"),
        ({"needles": 5}, "nearest valid: task.questions=2 or trainer.context_length=80"),
        ({"needles": 11}, "64 to the text; nearest valid: trainer.context_length=176"),
        ({"keys": 3}, "needle has no parameter 'keys'"),
    ],
)
def test_what_cannot_be_planted_is_refused_with_the_nearest_that_can(settings, words):
    with pytest.raises(ValueError, match=words):
        make(**settings)


def test_the_defaults_fit_a_context_of_64():
    build_task({"name": "needle"}, 64)
    with pytest.raises(ValueError, match="task.questions=14 or trainer.context_length=64"):
        build_task({"name": "needle"}, 63)
