import numpy as np
import pytest

from posexp.evaluation.curve import position_buckets, position_curve
from posexp.evaluation.losses import Scored


@pytest.mark.parametrize(
    ("longest", "t"), [(1024, 128), (64, 16), (1000, 100), (300, 96), (16, 16), (7, 4)]
)
def test_buckets_cover_every_position_once_and_none_straddles_the_training_length(longest, t):
    buckets = position_buckets(longest, t)
    covered = [i for first, last in buckets for i in range(first, last + 1)]
    assert covered == list(range(longest))
    assert not any(first < t <= last for first, last in buckets)


def test_buckets_are_log_spaced():
    edges = [first for first, _ in position_buckets(1024, 128)]
    assert {1, 2, 4, 8, 16, 32, 64, 128, 256, 512} <= set(edges)
    assert 181 in edges  # 128 x sqrt 2
    assert len(edges) < 25


def test_a_bucket_is_the_nats_of_its_positions_by_their_bytes_over_all_windows():
    losses = np.random.default_rng(0).random((5, 64))
    sizes = np.random.default_rng(1).integers(1, 6, (5, 64))
    rows = position_curve(Scored(losses, sizes), 64, 16)
    for row in rows:
        places = [(w, i) for w in range(5) for i in range(row["first"], row["last"] + 1)]
        assert row["count"] == len(places)
        bits = sum(losses[place] for place in places) / np.log(2)
        assert row["bits_per_byte"] == pytest.approx(bits / sum(sizes[place] for place in places))
    assert sum(row["count"] for row in rows) == losses.size


def test_p44_buckets_without_finite_losses_are_null():
    losses = np.ones((2, 64))
    losses[1, 40] = np.nan
    rows = position_curve(Scored(losses, np.ones((2, 64), int)), 64, 16)
    null = [row for row in rows if row["bits_per_byte"] is None]
    assert [(row["first"] <= 40 <= row["last"]) for row in null] == [True]
    assert all(
        row["bits_per_byte"] is None and row["count"] == 0 for row in position_curve(None, 64, 16)
    )
