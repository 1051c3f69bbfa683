import json
import math

import pytest

from posexp.report.comparison import compare
from posexp.report.grid import validation
from posexp.report.jobs import read_jobs

# (scheme, rate) -> validation and test loss: what is best on test is not best on val.
LOSSES = {
    ("rope", 1e-3): (2.30, 2.35),
    ("rope", 3e-3): (2.20, 2.31),
    ("rope", 1e-2): (2.25, 2.10),
    ("alibi", 1e-3): (2.50, 2.40),
    ("alibi", 3e-3): (2.45, 2.52),
    ("alibi", 1e-2): (2.40, 2.45),
}


def add(sweep, scheme, lr, val, test, seed=0, **options):
    """One job of a grid; without `test` it has no result, with `val` None it recorded none."""
    settings = {"optimizer": {"lr": lr}}
    losses = None if test is None else (test,) * 5
    job = sweep.write(scheme, losses, seed=seed, settings=settings, lr=lr, **options)
    path = job / "result.json"
    if losses is not None:
        result = json.loads(path.read_text())
        result["training"] |= {"val_bits_per_byte": val, "seconds": 40.0}
        path.write_text(json.dumps(result))
    return job


@pytest.fixture
def grid(sweep):
    for seed in range(3):
        for (scheme, lr), (val, test) in LOSSES.items():
            add(sweep, scheme, lr, val + 0.01 * seed, test, seed)
    return sweep


def only(sweep, baseline=None):
    (comparison,) = compare(read_jobs(sweep.path), baseline)
    return comparison


def test_one_rate_a_scheme_chosen_on_val_never_on_test(grid):
    comparison = only(grid)
    assert [s.label for s in comparison.settings] == ["rope lr=0.003", "alibi lr=0.01"]
    assert len(comparison.aside) == 4
    found = {c.setting: c for c in comparison.grid.candidates}
    assert [label for label, c in found.items() if c.chosen] == ["rope lr=0.003", "alibi lr=0.01"]
    assert found["rope lr=0.003"].val == pytest.approx(2.21)
    assert found["rope lr=0.01"].values == {"optimizer.lr": "0.01"}
    assert [c.label for c in comparison.grid.candidates] == ["rope"] * 3 + ["alibi"] * 3


def test_the_grid_and_its_cost_count_every_job(grid):
    found = only(grid).grid
    assert (found.jobs, found.tokens, found.seconds) == (18, 18 * 1_024_000, 18 * 40.0)
    assert "not test" in found.reason
    assert "alibi lr=0.01 is at an end of its grid" in found.reason
    assert "rope" not in found.reason.split("The best point")[1]


def test_what_was_set_aside_is_neither_ranked_nor_compared(grid):
    comparison = only(grid)
    assert set(comparison.ranks()) == {"rope lr=0.003", "alibi lr=0.01"}
    assert set(comparison.contrasts[128]) == {"rope lr=0.003", "alibi lr=0.01"}
    assert comparison.contrasts[128]["alibi lr=0.01"].family == 1


def test_the_scheme_names_its_chosen_point_as_the_baseline(grid):
    assert only(grid, "alibi").baseline.label == "alibi lr=0.01"


def test_without_validation_nothing_is_chosen_and_every_rate_is_a_row(sweep):
    for (scheme, lr), (_, test) in LOSSES.items():
        add(sweep, scheme, lr, None, test)
    comparison = only(sweep)
    assert len(comparison.settings) == 6 and comparison.aside == ()
    assert not comparison.grid.chosen_on_val
    assert "could not be chosen: 6 completed jobs have no validation loss" in comparison.grid.reason


def test_a_rate_that_diverged_is_not_chosen_whatever_its_last_validation(sweep):
    for (scheme, lr), (val, test) in LOSSES.items():
        add(sweep, scheme, lr, val, test)
    add(sweep, "rope", 1.0, 1.0, math.nan, status="diverged")
    comparison = only(sweep)
    assert comparison.settings[0].label == "rope lr=0.003"
    assert "1 of 7 points could not be chosen: unfinished, or diverged" in comparison.grid.reason


def test_a_rate_with_fewer_seeds_is_not_chosen(grid):
    add(grid, "rope", 3e-2, 1.0, 1.0, seed=0)
    add(grid, "rope", 3e-2, None, None, seed=1, status="failed")
    comparison = only(grid)
    assert "rope lr=0.003" in [s.label for s in comparison.settings]
    lonely = next(s for s in comparison.aside if s.label == "rope lr=0.03")
    assert validation(lonely) is None


def test_rates_of_a_single_scheme_are_what_is_compared(sweep):
    for lr in (1e-3, 3e-3):
        add(sweep, "rope", lr, 2.0, 2.1)
    comparison = only(sweep)
    assert comparison.grid is None and len(comparison.settings) == 2


def test_a_rate_of_its_own_for_each_scheme_is_no_grid(sweep):
    add(sweep, "rope", 1e-3, 2.0, 2.1)
    add(sweep, "alibi", 3e-3, 2.2, 2.1)
    comparison = only(sweep)
    assert comparison.grid is None and len(comparison.settings) == 2


def test_a_scheme_whose_points_all_diverged_keeps_its_rows(sweep):
    for lr in (1e-3, 3e-3):
        add(sweep, "rope", lr, 2.0 + lr, 2.1)
        add(sweep, "raw", lr, None, math.nan, status="diverged")
    comparison = only(sweep)
    assert [s.label for s in comparison.settings] == [
        "rope lr=0.001",
        "raw lr=0.001",
        "raw lr=0.003",
    ]
    assert "None could be chosen for raw" in comparison.grid.reason
