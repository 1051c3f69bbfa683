import numpy as np

from posexp.evaluation.losses import LossRunner
from posexp.evaluation.tiles import Tiles, sampled_tiles, tile_losses


def tile_starts(documents, longest, length, offset=0):
    tiles = Tiles(documents, longest, length, offset)
    return tiles.starts(np.arange(tiles.count))


def test_tiles_are_disjoint_and_stay_in_their_document(corpus):
    documents = corpus.split("test")  # 83, 64 and 70 tokens
    assert tile_starts(documents, 64, 32) == [(0, 1), (0, 33), (2, 1), (2, 33)]
    assert tile_starts(documents, 64, 32, offset=16) == [(0, 17), (0, 49), (2, 17)]
    assert tile_starts(documents, 63, 64) == [(0, 1), (2, 1)]
    assert tile_starts(documents, 70, 82) == [(0, 1)]
    assert tile_starts(documents, 70, 83) == []


def test_a_sample_of_tiles_is_some_of_all(corpus):
    documents = corpus.split("test")
    every = tile_starts(documents, 64, 8)
    sample = sampled_tiles(documents, 64, 8, 5)
    assert len(sample) == 5
    assert sample == sorted(set(sample) & set(every))
    assert {n for n, _ in sample} == {0, 2}


def test_scoring_the_end_equals_the_end_of_scoring_all(corpus, model):
    documents = corpus.split("test")
    starts = tile_starts(documents, 64, 32)
    runner = LossRunner(model, "window", 64)
    whole = tile_losses(runner, documents, starts, length=32, scored=32)
    end = tile_losses(runner, documents, starts, length=32, scored=5)
    assert whole.nats.shape == whole.sizes.shape == (4, 32)
    assert (whole.nats[:, -5:] == end.nats).all()
    assert (whole.sizes == 1).all()
