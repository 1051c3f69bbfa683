import numpy as np
import pytest

from posexp.evaluation.literature import literature_row, sliding_losses, stride_of
from posexp.evaluation.losses import LossRunner, Scored
from posexp.evaluation.tiles import sampled_tiles, tile_losses

BOS = 256


def both(model, documents, length, count, bos="window"):
    runner = LossRunner(model, bos, 64)
    starts = sampled_tiles(documents, 64, length, count)
    tiles = tile_losses(runner, documents, starts, length=length, scored=length)
    return tiles, sliding_losses(runner, documents, 64, length, count, tiles)


@pytest.mark.parametrize("bos", ["window", "none"])
@pytest.mark.parametrize("length", [8, 32])
def test_with_windows_enough_both_equal_a_loop_over_the_whole_split(
    corpus, model, reference, length, bos
):
    documents = corpus.split("test")
    stride = length // 2

    def loss(x, first, i):
        fed = x[first - 1 : first + i]
        return reference([BOS, *fed[1:]] if bos == "window" else fed, x[first + i])

    whole, sliding = [], []
    for document in (documents[0], documents[2]):
        x = document.tokens.tolist()
        for first in range(1, len(x) - length + 1, stride):
            sliding += [loss(x, first, i) for i in range(length - stride, length)]
            if (first - 1) % length == 0:
                whole += [loss(x, first, i) for i in range(length)]
    tiles, halves = (scored.nats for scored in both(model, documents, length, 1000, bos))
    assert (tiles.size, halves.size) == (len(whole), len(sliding))
    np.testing.assert_allclose(tiles.ravel(), whole, atol=1e-5)
    np.testing.assert_allclose(np.sort(halves.ravel()), np.sort(sliding), atol=1e-5)


def test_a_sample_runs_no_more_windows_than_asked(corpus, model):
    tiles, halves = both(model, corpus.split("test"), 8, 6)
    assert sum(batch for batch, _ in model.shapes) == 6
    assert (halves.nats == tiles.nats[:, 4:]).all()


def test_odd_lengths_and_length_one_have_a_stride():
    assert [stride_of(n) for n in (1, 2, 7, 64)] == [1, 1, 3, 32]


def test_rows():
    nats = np.full((3, 8), np.log(2))
    ones, twos = np.ones((3, 8), int), np.full((3, 4), 2)
    row = literature_row(8, "ok", (Scored(nats, ones), Scored(4 * nats[:, 4:], twos)))
    assert row == {"length": 8, "status": "ok", "non_overlapping": 1, "sliding": 2, "stride": 4}
    row = literature_row(8, "memory", None)
    assert row["non_overlapping"] is row["sliding"] is None
