import itertools
import math

import numpy as np
import pytest

from posexp.report.comparison import compare
from posexp.report.contrasts import holm, judge
from posexp.report.estimate import (
    ALIKE,
    BASELINE,
    BETTER,
    DIVERGED,
    MISSING,
    TOO_FEW,
    WORSE,
    Estimate,
)
from posexp.report.jobs import read_jobs
from posexp.report.seeds import Error, estimate, p_of_zero

FLAT = (2.0,) * 5


def contrasts(sweep, baseline=None, length=128):
    (comparison,) = compare(read_jobs(sweep.path), baseline)
    return comparison.contrasts[length]


def three_seeds(sweep, scheme, losses):
    for seed, loss in enumerate(losses):
        sweep.write(scheme, (loss,) * 5, seed=seed)


def closed_testing(p):
    """Holm's correction from its definition: a hypothesis falls where every intersection that
    holds it falls, each tested by Bonferroni at the size of the intersection."""
    labels = list(p)
    subsets = [s for n in range(1, len(p) + 1) for s in itertools.combinations(labels, n)]
    return {
        label: max(min(1.0, len(s) * min(p[x] for x in s)) for s in subsets if label in s)
        for label in labels
    }


def test_holm_is_the_closed_test_of_bonferroni():
    random = np.random.default_rng(0)
    for _ in range(50):
        p = {str(i): float(value) for i, value in enumerate(random.uniform(0, 0.4, 5) ** 2)}
        assert holm(p) == pytest.approx(closed_testing(p))


def test_holm_by_hand():
    """0.01 x 3, then 0.02 x 2, then 0.03 raised to the one before."""
    assert holm({"a": 0.03, "b": 0.01, "c": 0.02}) == pytest.approx(
        {"a": 0.04, "b": 0.03, "c": 0.04}
    )
    assert holm({"a": 0.01}, family=6) == {"a": 0.06}
    assert holm({}) == {}


def test_every_verdict_for_what_it_is(sweep):
    three_seeds(sweep, "base", [2.0, 2.1, 2.05])
    three_seeds(sweep, "good", [1.7, 1.81, 1.75])
    three_seeds(sweep, "bad", [2.5, 2.61, 2.54])
    three_seeds(sweep, "same", [2.3, 1.8, 2.05])
    three_seeds(sweep, "burst", [2.0, math.nan, 2.0])
    sweep.write("single", (2.5,) * 5, seed=0)
    for seed in (0, 1):
        sweep.write("pair", (2.5,) * 5, seed=seed)
    sweep.write("late", status="running")
    sweep.write("other_seed", (2.5,) * 5, seed=9)
    found = contrasts(sweep, "base")
    verdicts = {label: c.verdict for label, c in found.items()}
    assert verdicts == {
        "base": BASELINE,
        "good": BETTER,
        "bad": WORSE,
        "same": ALIKE,
        "burst": DIVERGED,
        "single": TOO_FEW,
        "pair": TOO_FEW,
        "late": MISSING,
        "other_seed": MISSING,
    }
    assert found["good"].words.startswith("better by 0.297 (0.2")
    assert found["same"].words == "not distinguishable (interval covers zero)"
    assert found["single"].words == "not distinguishable: one seed"
    assert found["pair"].words == "not distinguishable: 2 seeds are too few"
    assert found["late"].words == "n/a: still running"
    assert found["other_seed"].words == "n/a: no seed in common with the baseline"
    assert found["good"].family == 3  # single and pair claim nothing
    assert [seed for seed, _ in found["good"].by_seed] == ["0", "1", "2"]
    differences = [value for _, value in found["good"].by_seed]
    assert differences == pytest.approx([-0.3, -0.29, -0.3])


def test_undefined_lengths_are_not_compared(sweep):
    sweep.write("base", FLAT)
    sweep.write("learned", (2.0, 2.1, None, None, None))
    sweep.write("tall", (2.0, 2.1, 2.2, 2.3, None))
    found = contrasts(sweep, "base", 256)
    assert found["learned"].words == "n/a: not defined at this length"
    assert contrasts(sweep, "learned", 256)["base"].words == (
        "n/a: the baseline has none (not defined at this length)"
    )


def test_a_baseline_that_diverged_has_no_contrasts(sweep):
    sweep.write("base", (math.nan,) * 5)
    sweep.write("alibi", FLAT)
    assert contrasts(sweep, "base")["alibi"].words == "n/a: the baseline diverged"


def test_seeds_that_agree_by_chance_do_not_outvote_the_text():
    """Three equal seeds on a text with an error of 0.02: 0.03 is nothing."""
    found = estimate([0.03, 0.03, 0.03], Error(0.02, 15))
    assert judge(found, holm({"x": p_of_zero(found)})["x"], 1)[0] == ALIKE


def test_a_p_that_does_not_survive_the_correction_is_said():
    found = estimate([0.020, 0.024, 0.028], Error(0.001, 15))
    p = p_of_zero(found)
    assert 0.05 / 7 < p < 0.05
    verdict, words = judge(found, 7 * p, 7)
    assert verdict == ALIKE and f"p = {p:.2g}, corrected for 7: {7 * p:.2g}" in words


def test_one_chunk_of_anchors_tells_nothing_of_the_text():
    verdict, words = judge(Estimate(0.1, 3, 0.01), None, 0)
    assert verdict == TOO_FEW and words.endswith("the error of the text is unknown")


def test_the_best_as_baseline_counts_every_pair(sweep):
    for scheme, loss in (("a", 2.0), ("b", 2.3), ("c", 2.4), ("d", 2.5)):
        three_seeds(sweep, scheme, [loss, loss + 0.01, loss - 0.01])
    assert {c.family for c in contrasts(sweep).values() if c.p is not None} == {6}
    chosen = contrasts(sweep, "a")
    assert {c.family for c in chosen.values() if c.p is not None} == {3}
    assert all(contrasts(sweep)[x].holm >= chosen[x].holm for x in "bcd")
