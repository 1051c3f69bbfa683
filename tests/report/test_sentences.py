import dataclasses
import json
import math

import numpy as np
import pytest

from posexp.report.analyse import analyse
from posexp.report.comparison import compare
from posexp.report.sweeps import read_sweeps


def said(sweep, baseline=None):
    sweeps = read_sweeps([sweep.path])
    (part,) = analyse([sweep.path], sweeps, compare(sweeps.jobs, baseline)).parts
    return " ".join(part.summary)


def three(sweep, scheme, losses, spread=0.01, **options):
    for seed, offset in enumerate((-spread, 0, spread)):
        values = tuple(None if x is None else x + offset for x in losses)
        sweep.write(scheme, values, seed=seed, **options)


@pytest.fixture
def shapes(sweep):
    """Three seeds each: one that breaks, one flat and worse, one flat and alike, one undefined."""
    three(sweep, "rope", (2.0, 2.0, 3.0, 3.5, 4.0))
    three(sweep, "alibi", (2.3,) * 5)
    three(sweep, "hybrid", (2.0, 2.001, 2.0, 2.0, 2.0), spread=0.02)
    three(sweep, "learned", (2.5, 2.5, None, None, None))
    return sweep


def test_what_holds_at_t_and_beyond(shapes):
    text = said(shapes, "rope")
    assert "At T = 128, rope, the baseline, has 2.000 bits per byte;" in text
    assert "hybrid is not distinguishable from it" in text
    assert "alibi and learned are worse" in text
    assert "At 8 T, hybrid and alibi stay within 0.01 bits of the loss at T" in text
    assert "rope rises by 2.00" in text and "learned is not defined" in text


def test_how_many_seeds_would_tell_and_what_that_takes(sweep):
    """Differences 0.00, 0.01, 0.02: effects of one spread, which ten seeds find."""
    for seed in range(3):
        noise = 0.5 * seed  # alike for both
        sweep.write("rope", (2.0 + noise,) * 5, seed=seed)
        path = sweep.write("alibi", (2.0 + noise + 0.01 * seed,) * 5, seed=seed)
        rope = np.load(sweep.path / sweep.names[-2] / "anchors.npz")
        shifted = {k: rope[k] + 0.01 * seed * math.log(2) for k in rope if k.startswith("anch")}
        np.savez(path / "anchors.npz", **dict(rope) | shifted)
    text = said(sweep, "rope")
    assert "four of five studies: alibi 10 for the 0.010 seen, 10 for 0.01." in text
    assert "normal with the spread seen" in text


def test_the_best_is_called_the_lowest(shapes):
    assert "At T = 128, rope has the lowest loss, 2.000 bits per byte;" in said(shapes)


def test_one_seed_is_said_to_tell_nothing_of_another(sweep):
    sweep.write("rope", (2.0,) * 5)
    sweep.write("alibi", (2.9,) * 5)
    text = said(sweep)
    assert "One seed tells nothing about another initialisation or data order" in text
    assert "On this text these models differ from rope by +0.900 (alibi)" in text
    assert "better" not in text and "worse" not in text


def test_who_reads_the_far_text(sweep):
    """Per-anchor losses with a foreign prefix: 0.2 bits more for one, the same for the other."""
    for scheme, more in (("rope", 0.2), ("alibi", 0.0)):
        path = sweep.write(scheme, (2.0,) * 5, foreign=more)
        arrays = dict(np.load(path / "anchors.npz"))
        noise = np.random.default_rng(1).normal(0, 0.01, 64)
        foreign = arrays["anchored_1024"] + more * math.log(2) + noise - noise.mean()
        np.savez(path / "anchors.npz", **arrays, foreign_1024=foreign)
    assert "a foreign prefix costs what far text was worth: rope (+0.200)." in said(sweep)


def test_nobody_reads_the_far_text(sweep):
    path = sweep.write("alibi", (2.0,) * 5, foreign=0.0)
    arrays = dict(np.load(path / "anchors.npz"))
    np.savez(path / "anchors.npz", **arrays, foreign_1024=arrays["anchored_1024"])
    assert "none uses what stands beyond the last T tokens by more than 0.01" in said(sweep)


def test_divergence_failures_and_unlike_runs_are_named(sweep):
    three(sweep, "rope", (2.0,) * 5)
    three(sweep, "alibi", (2.1,) * 5, tokens_seen=7)
    sweep.write("raw", (math.nan,) * 5)
    sweep.write("kaput", status="failed")
    sweep.write("late", status="running")
    text = said(sweep)
    assert "Diverged, in some seed or at some length: raw." in text
    assert "2 jobs without a result: see failures." in text
    assert "Not like with like in tokens_seen: see fairness." in text


@pytest.mark.parametrize(
    ("order_5", "expected"),
    [
        (1.9, "Counting the last four bytes is better than all of them: 1.900 (5-gram)."),
        (2.1, "Only rope beats a 5-gram model (2.100) at T."),
        (2.9, None),
    ],
)
def test_what_counting_reaches(sweep, order_5, expected):
    sweep.write("rope", (2.0,) * 5)
    sweep.write("alibi", (2.5,) * 5)
    sweeps = read_sweeps([sweep.path])
    found = [dataclasses.replace(c, ngram={"order_5": order_5}) for c in compare(sweeps.jobs)]
    (part,) = analyse([sweep.path], sweeps, found).parts
    said_of_ngrams = [sentence for sentence in part.summary if "5-gram" in sentence]
    assert said_of_ngrams == ([expected] if expected else [])


def test_who_recalls_most(sweep):
    for scheme, accuracy in (("rope", 0.1), ("alibi", 0.62)):
        path = sweep.write(scheme, (2.0,) * 5) / "result.json"
        result = json.loads(path.read_text())
        entry = {"length": 1024, "status": "ok", "accuracy": accuracy, "low": 0.0, "high": 1.0}
        result["evaluation"]["task"] = {
            **{"name": "needle", "windows": 8, "chance": 0.04, "rows": []},
            "lengths": [entry],
        }
        path.write_text(json.dumps(result))
    assert "At 1024, alibi recalls most of needle: 62 %." in said(sweep)
