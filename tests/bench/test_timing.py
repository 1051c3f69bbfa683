"""Turns and statistics, on a clock that moves only when it is told to."""

import gc

import numpy as np
import pytest

from posexp.bench.timing import MIN_ROUNDS, Spread, interleave, ratio


class FakeClock:
    """Seconds that pass when `spend` is called."""

    def __init__(self):
        self.now = 100.0
        self.log = []

    def __call__(self):
        return self.now

    def call(self, name, durations):
        """A call that takes the next of `durations`, and the last one from then on."""
        left = list(durations)

        def run():
            self.log.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]

        return run


def test_calls_take_turns_and_the_first_of_each_is_not_counted():
    clock = FakeClock()
    calls = {"a": clock.call("a", [50, 1, 2, 3]), "b": clock.call("b", [70, 10, 20, 30])}
    seconds = interleave(calls, rounds=3, budget=1000, clock=clock)
    assert clock.log == ["a", "b"] * 4
    assert seconds == {"a": [1, 2, 3], "b": [10, 20, 30]}


@pytest.mark.parametrize(
    ("rounds", "budget", "made"),
    [
        (7, 1000, 7),  # as many as asked
        (100, 12, 4),  # rounds of 3 s: the fourth spends the budget
        (100, 0.1, MIN_ROUNDS),  # a slow cell still has a spread
        (1, 1000, MIN_ROUNDS),
    ],
)
def test_rounds_end_by_their_number_or_their_budget(rounds, budget, made):
    clock = FakeClock()
    calls = {"a": clock.call("a", [1]), "b": clock.call("b", [2])}
    seconds = interleave(calls, rounds, budget, clock=clock)
    assert [len(times) for times in seconds.values()] == [made, made]


def test_a_slow_machine_cancels():
    """Every round twice as slow as the one before: the ratio does not notice."""
    clock = FakeClock()
    slower = [2.0**n for n in range(6)]
    calls = {
        "a": clock.call("a", slower),
        "b": clock.call("b", [1.5 * seconds for seconds in slower]),
    }
    seconds = interleave(calls, rounds=5, budget=1000, clock=clock)
    spread = ratio(seconds["b"], seconds["a"])
    assert spread == Spread(1.5, 1.5, 1.5, 1.5, 1.5, 5)
    assert Spread.of(seconds["a"]).maximum == 16 * Spread.of(seconds["a"]).minimum


def test_the_ratio_is_of_rounds_and_not_of_medians():
    spread = ratio([1.0, 20.0, 3.0], [1.0, 10.0, 6.0])
    assert spread.median == 1.0  # of 1, 2 and 0.5; the medians' own ratio is 3 / 6


def test_the_device_is_waited_for_within_each_time():
    clock = FakeClock()

    def synchronize():
        clock.now += 5

    seconds = interleave(
        {"a": clock.call("a", [1])}, rounds=3, budget=1000, clock=clock, synchronize=synchronize
    )
    assert seconds == {"a": [6, 6, 6]}


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9, 10])
def test_a_spread_is_numpys(count):
    sample = np.random.default_rng(count).exponential(size=count)
    spread = Spread.of(sample.tolist())
    expected = np.quantile(sample, [0.5, 0.25, 0.75, 0, 1])
    found = [spread.median, spread.low, spread.high, spread.minimum, spread.maximum]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert spread.rounds == count


def test_rounds_that_are_missing_are_not_paired():
    with pytest.raises(ValueError, match="zip"):
        ratio([1.0, 2.0], [1.0, 2.0, 3.0])


def test_no_garbage_is_collected_within_a_round_and_it_is_afterwards():
    seen = []
    interleave({"a": lambda: seen.append(gc.isenabled())}, rounds=3, budget=10)
    assert seen == [True, False, False, False]
    assert gc.isenabled()

    def broken():
        if not gc.isenabled():
            raise RuntimeError("in a round")

    with pytest.raises(RuntimeError, match="in a round"):
        interleave({"a": broken}, rounds=3, budget=10)
    assert gc.isenabled()
