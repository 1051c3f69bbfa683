"""Intervals and verdicts over simulated sweeps: do they keep the rate that they state?"""

import math
from pathlib import Path

import numpy as np
import pytest

from posexp.report.estimate import ALIKE, BETTER, WORSE

WORLDS = {  # what differs from `World` in simulated.py
    "one book": {},
    "five seeds": {"seeds": 5},
    "a short text": {"documents": (64,)},
    "four plays": {"documents": (64, 64, 64, 64), "document": 0.02},
    "forty documents": {"documents": (6,) * 40, "document": 0.1},
    "seeds decide": {"seed": 0.05, "text": 0.02},
    "the text decides": {"seed": 0.0005, "text": 0.3},
    "neighbours alike": {"correlation": 0.6},
}
GAP = 0.03


@pytest.fixture
def made(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import simulated

    return simulated


def rates(made, world, runs, seed=0):
    """The share of sweeps whose intervals cover what each of them is about."""
    random = np.random.default_rng(seed)
    covered = np.zeros(3)
    for _ in range(runs):
        jobs, truth = made.simulate(random, made.World(**world), {"a": GAP, "b": 0.0})
        found = made.only(jobs, "b").contrasts[made.T]["a"].estimate
        covered += [
            found.over_text.covers(truth.these_seeds),
            found.over_seeds.covers(truth.this_text),
            found.both.covers(truth.everywhere),
        ]
    return covered / runs


def family_wise(made, world, runs, schemes, baseline, seed=1):
    """The share of sweeps of equal schemes in which any of them is called better or worse."""
    random = np.random.default_rng(seed)
    means = {f"s{i}": 0.0 for i in range(schemes)}
    wrong = 0
    for _ in range(runs):
        jobs, _ = made.simulate(random, made.World(**world), means)
        found = made.only(jobs, baseline).contrasts[made.T].values()
        wrong += any(c.verdict in (BETTER, WORSE) for c in found)
    return wrong / runs


def error_of(rate, runs):
    return math.sqrt(rate * (1 - rate) / runs)


@pytest.mark.parametrize("name", ["one book", "four plays"])
def test_95_percent_intervals_cover(made, name):
    """200 sweeps, so a rate of 0.95 has a standard error of 0.015: no less than 0.95 - 3 of it."""
    assert rates(made, WORLDS[name], 200).min() >= 0.95 - 3 * error_of(0.95, 200)


@pytest.mark.parametrize("baseline", ["s0", None], ids=["chosen", "best"])
def test_a_planted_null_is_called_null(made, baseline):
    wrong = family_wise(made, {}, 100, schemes=4, baseline=baseline)
    assert wrong <= 0.05 + 3 * error_of(0.05, 100)


def test_a_planted_difference_is_found_with_its_sign(made):
    random = np.random.default_rng(2)
    means = {"base": 0.0, "good": -0.3, "bad": 0.3, "same": 0.0}
    found = []
    for _ in range(20):
        jobs, _ = made.simulate(random, made.World(), means)
        found.append(made.only(jobs, "base").contrasts[made.T])
    assert all(c["good"].verdict == BETTER and c["bad"].verdict == WORSE for c in found)
    assert sum(c["same"].verdict == ALIKE for c in found) >= 17


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_coverage_over_a_thousand_sweeps(made, name, capsys):
    runs = 1000
    found = rates(made, WORLDS[name], runs)
    with capsys.disabled():
        text, seeds, both = (f"{rate:.3f} ± {error_of(rate, runs):.3f}" for rate in found)
        print(f"\n{name}: over text {text}, over seeds {seeds}, over both {both}")
    lowest = 0.95 - 3 * error_of(0.95, runs)
    # Chunks of one book miss what is correlated across their ends.
    one_book = len(made.World(**WORLDS[name]).documents) == 1
    assert found[0] >= (0.915 if one_book else lowest) and found[1:].min() >= lowest


@pytest.mark.slow
@pytest.mark.parametrize("baseline", ["s0", None], ids=["chosen", "best"])
@pytest.mark.parametrize("name", ["one book", "five seeds", "seeds decide", "the text decides"])
def test_family_wise_error_over_a_thousand_sweeps(made, name, baseline, capsys):
    runs = 1000
    wrong = family_wise(made, WORLDS[name], runs, schemes=6, baseline=baseline)
    with capsys.disabled():
        print(f"\n{name}, baseline {baseline or 'best'}: {wrong:.3f} ± {error_of(wrong, runs):.3f}")
    assert wrong <= 0.05 + 3 * error_of(0.05, runs)
