import numpy as np
import pytest

from posexp.data.planted import PlantedWindows, joined, split
from posexp.data.planted import test_window as planted_test_window
from posexp.data.windows import TrainingWindows
from posexp.task import Task


class Marks(Task):
    """Writes a random byte at place 1, and scores that alone."""

    share = 0.3

    def training_window(self, tokens, random):
        tokens, scored = tokens.copy(), np.zeros(len(tokens), bool)
        tokens[1], scored[1] = random.integers(200, 250), True
        return tokens, scored

    def test_window(self, tokens, distance, random):
        return self.training_window(tokens, random)


@pytest.fixture
def windows(make_document):
    return TrainingWindows([make_document(500)], 16, seed_data=3, bos="window", size=300)


def same(a, b):
    return all(np.array_equal(a[key], b[key]) for key in ("inputs", "targets"))


def test_the_others_stay_as_they_were_and_the_share_is_kept(windows):
    planted = PlantedWindows(windows, Marks())
    assert len(planted) == 300
    changed = [n for n in range(300) if not same(planted[n], windows[n])]
    assert 0.3 * 300 - 30 < len(changed) < 0.3 * 300 + 30
    for n in changed:
        item, before = planted[n], windows[n]
        assert item["index"] == n
        assert item["inputs"].dtype == item["targets"].dtype == before["inputs"].dtype
        marked = int(item["inputs"][1])
        assert 200 <= marked < 250 and int(item["targets"][0]) == marked
        assert (item["targets"][1:] == -100).all()
        assert (item["inputs"][2:] == before["inputs"][2:]).all()


def test_a_sample_is_a_function_of_the_seed_and_its_number(make_document, windows):
    """P36 with a task: in whatever order samples are drawn, and by whomever."""
    planted = PlantedWindows(windows, Marks())
    again = TrainingWindows([make_document(500)], 16, seed_data=3, bos="window", size=300)
    fresh = PlantedWindows(again, Marks())
    assert all(same(fresh[n], planted[n]) for n in reversed(range(300)))
    other = TrainingWindows([make_document(500)], 16, seed_data=4, bos="window", size=300)
    which = [
        [n for n in range(300) if (w[n]["targets"] == -100).any()]
        for w in (planted, PlantedWindows(other, Marks()))
    ]
    assert which[0] != which[1]


def test_without_a_share_nothing_is_changed(windows):
    task = Marks()
    task.share = 0.0
    assert all(same(PlantedWindows(windows, task)[n], windows[n]) for n in range(300))


def test_nothing_is_planted_across_documents(make_document):
    documents = [make_document(5, id=str(i), start=7 * i) for i in range(40)]
    packed = TrainingWindows(documents, 16, 0, "window", 50)
    task = Marks()
    task.share = 0.99
    assert all(same(PlantedWindows(packed, task)[n], packed[n]) for n in range(50))


def test_test_windows_share_their_text_and_differ_in_the_rest(windows):
    first, again, other = (planted_test_window(windows, Marks(), d, 5) for d in (4, 4, 8))
    assert np.array_equal(first[0], again[0])
    assert first[0][1] != other[0][1]
    assert np.array_equal(first[0][2:], other[0][2:])
    assert first[0][0] == 256


@pytest.mark.parametrize(
    ("tokens", "scored", "words"),
    [
        (np.arange(9), np.ones(10, bool), "tokens and bools of shape"),
        (np.arange(10), np.ones(10, int), "int64"),
        (np.arange(10), np.ones(9, bool), "tokens and bools of shape"),
        (np.arange(10) + 250, np.ones(10, bool), "outside 0 .. 256"),
        (np.arange(10) - 1, np.ones(10, bool), "outside 0 .. 256"),
        (np.arange(10) + 1, np.ones(10, bool), "changed token 0"),
    ],
)
def test_a_task_that_breaks_the_contract_is_told(tokens, scored, words):
    with pytest.raises(ValueError, match=words):
        split((tokens, scored), np.arange(10))


def test_a_window_is_joined_and_split_again(windows):
    item = windows[7]
    inputs, targets = split((joined(item), np.ones(17, bool)), joined(item))
    assert np.array_equal(inputs, item["inputs"]) and np.array_equal(targets, item["targets"])
