import itertools

import pytest

from posexp.report.ranking import mean_reciprocal_rank, ranks


def test_ties_share_a_rank_whatever_the_order_of_the_rows():
    """What prints alike to three decimals is a tie; the rank after two firsts is three."""
    losses = {"a": 2.3001, "b": 2.2999, "c": 2.31, "nan": None, "inf": None}
    expected = {"a": 1, "b": 1, "c": 3, "nan": 4, "inf": 4}
    for order in itertools.permutations(losses):
        assert ranks({name: losses[name] for name in order}) == expected


def test_mean_reciprocal_rank_counts_a_missing_rank_as_zero():
    assert mean_reciprocal_rank([{"a": 1}, {"a": 4}, {"b": 1}], "a") == pytest.approx(1.25 / 3)
    assert mean_reciprocal_rank([], "a") is None
