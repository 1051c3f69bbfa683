"""Places found in chunks against a list of all of them."""

import numpy as np
import pytest

import posexp.evaluation.places
from posexp.evaluation.places import count_places, evenly_spread, find_places


@pytest.fixture(params=[1, 3, 1000])
def chunked(request, monkeypatch):
    def chunks(array):
        size = request.param
        return (array[n : n + size] for n in range(0, len(array), size))

    monkeypatch.setattr(posexp.evaluation.places, "in_chunks", chunks)


def room(sizes):
    return np.maximum(0, sizes - 4)


@pytest.mark.parametrize("sizes", [[9, 0, 4, 5, 30, 2], [1, 2], [], [50]])
@pytest.mark.parametrize("count", [0, 1, 5, 1000])
def test_places_are_those_of_a_list(chunked, sizes, count):
    sizes = np.array(sizes, dtype=np.int64)
    every = [(n, k) for n, size in enumerate(sizes) for k in range(max(0, size - 4))]
    assert count_places(sizes, room) == len(every)
    chosen = evenly_spread(len(every), count)
    owners, which = find_places(sizes, room, chosen)
    assert list(zip(owners.tolist(), which.tolist(), strict=True)) == [every[n] for n in chosen]
