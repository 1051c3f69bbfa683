import itertools

import numpy as np
import pytest

from posexp.data.bos import BOS_RULES, first_start, window
from posexp.data.packing import IGNORED, pack_documents, plan_packs


def test_every_document_is_packed_once_and_no_pack_overflows():
    sizes = np.random.default_rng(0).integers(0, 65, size=500).tolist()
    packs = plan_packs(sizes, 64)
    packed = sorted(itertools.chain.from_iterable(packs))
    assert packed == [i for i, size in enumerate(sizes) if size]
    assert max(sum(sizes[i] for i in pack) for pack in packs) <= 64


def test_packs_are_the_best_fit_of_a_slow_search():
    """The same rule as a plain loop over all packs: the tightest that has room, else a new one."""
    sizes = np.random.default_rng(1).integers(1, 40, size=120).tolist()
    packs: list[list[int]] = []
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        room = [40 - sum(sizes[j] for j in pack) for pack in packs]
        fits = [(free, number) for number, free in enumerate(room) if free >= sizes[i]]
        if fits:
            packs[min(fits)[1]].append(i)
        else:
            packs.append([i])
    assert plan_packs(sizes, 40) == packs
    assert len(packs) <= 1.25 * sum(sizes) / 40 + 1


def test_documents_without_a_target_are_left_out():
    assert plan_packs([0, 3, 0], 4) == [[1]]
    assert plan_packs([-1, 0], 4) == []


def test_a_document_longer_than_a_pack_is_refused():
    with pytest.raises(ValueError, match="5 tokens is longer than a pack of 4"):
        plan_packs([5], 4)


def test_a_pack_as_drawn_on_paper():
    pack = pack_documents([np.array([1, 2, 3]), np.array([7, 8])], 7, "window")
    assert pack["inputs"].tolist() == [256, 1, 2, 256, 7, 256, 256]
    assert pack["targets"].tolist() == [1, 2, 3, 7, 8, IGNORED, IGNORED]
    assert pack["documents"].tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert pack["positions"].tolist() == [0, 1, 2, 0, 1, 0, 1]


@pytest.mark.parametrize("bos", BOS_RULES)
def test_each_packed_document_is_its_own_whole_window(bos):
    documents = [np.arange(10, 10 + n) for n in (4, 2, 6)]
    pack = pack_documents(documents, 16, bos)
    first = first_start(bos)
    for number, tokens in enumerate(documents):
        here = pack["documents"] == number
        inputs, targets = window(tokens, first, len(tokens) - first, bos)
        assert pack["inputs"][here].tolist() == inputs.tolist()
        assert pack["targets"][here].tolist() == targets.tolist()
        assert pack["positions"][here].tolist() == list(range(here.sum()))
    assert (pack["targets"][pack["documents"] == 3] == IGNORED).all()
    assert {array.shape for array in pack.values()} == {(16,)}
    assert {array.dtype for array in pack.values()} == {np.dtype(np.int64)}
