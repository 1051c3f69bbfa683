import itertools

import numpy as np
import pytest

from posexp.page.spread import spread


def test_far_names_stay_and_near_ones_part_about_their_middle():
    assert spread(np.array([0.1, 0.5, 0.52, 0.9]), 0.1) == pytest.approx([0.1, 0.46, 0.56, 0.9])


def test_never_nearer_than_the_gap_and_inside_where_there_is_room():
    random = np.random.default_rng(0)
    for n in range(1, 12):
        places = spread(np.sort(random.random(n) ** 3), 0.08)
        assert all(b - a >= 0.08 - 1e-12 for a, b in itertools.pairwise(places))
        assert places[0] >= 0 and places[-1] <= 1 + 1e-12


def test_least_squares_against_a_search():
    wanted = np.array([0.3, 0.32, 0.4])
    grid = np.linspace(0, 1, 101)
    best = min(
        (p for p in itertools.product(grid, repeat=3) if p[1] - p[0] > 0.0999 < p[2] - p[1]),
        key=lambda p: sum((np.array(p) - wanted) ** 2),
    )
    assert spread(wanted, 0.1) == pytest.approx(best, abs=0.011)


def test_no_names():
    assert spread(np.array([]), 0.1).size == 0
