import itertools

import numpy as np
import pytest

from posexp.evaluation.statistics import paired_difference, standard_error


def test_independent_values_of_one_document_have_the_textbook_error():
    values = np.random.default_rng(0).normal(size=512)
    found = standard_error(values, np.zeros(512, int))
    assert found == pytest.approx(values.std(ddof=1) / np.sqrt(512), rel=0.2)


def test_neighbours_that_agree_are_not_counted_as_independent():
    """AR(1), rho 0.8: the error of the mean is sqrt((1 + rho) / (1 - rho)) = 3 textbook ones."""
    random = np.random.default_rng(1)
    values = [0.0]
    for noise in random.normal(size=4095):
        values.append(0.8 * values[-1] + noise)
    values = np.array(values)
    naive = values.std(ddof=1) / np.sqrt(len(values))
    assert 2 * naive < standard_error(values, np.zeros(len(values), int)) < 3.5 * naive


def test_equals_the_enumeration_of_all_resamples():
    values = np.array([1.0, 2.0, 4.0, 7.0, 7.0, 9.0])  # 6 anchors: 3 chunks of 2
    chunks = [values[:2], values[2:4], values[4:]]
    means = [np.concatenate(draw).mean() for draw in itertools.product(chunks, repeat=3)]
    found = standard_error(values, np.zeros(6, int), resamples=20_000)
    assert found == pytest.approx(np.std(means), rel=0.03)


def test_documents_are_drawn_too():
    """Documents that differ and are constant inside: the error is that of document means."""
    level = np.random.default_rng(2).normal(size=40)
    documents = np.repeat(np.arange(40), 10)
    found = standard_error(level[documents], documents)
    assert found == pytest.approx(level.std() / np.sqrt(40), rel=0.1)


def test_two_documents_of_other_sizes_equal_the_enumeration():
    values = np.array([0.0, 1.0, 1.0, 1.0])  # one anchor, and three in one or two chunks
    documents = np.array([4, 9, 9, 9])
    found = standard_error(values, documents, resamples=20_000)
    means = [0, 1, 3 / 4, 3 / 4]  # the first twice, the second twice, both; all chunks of the
    # second are ones, so only how many anchors come from it matters: 3 chunks of 1
    assert found == pytest.approx(np.std(means), rel=0.03)


def test_one_chunk_has_no_error_and_constants_have_none():
    assert standard_error(np.array([1.0]), np.array([0])) is None
    assert standard_error(np.ones(64), np.zeros(64, int)) == 0


def test_it_is_reproducible():
    values = np.random.default_rng(0).normal(size=100)
    documents = np.zeros(100, int)
    assert standard_error(values, documents) == standard_error(values, documents)


def arrays(**more):
    return {"document": np.zeros(256, int), "position": np.arange(256), **more}


def test_a_paired_difference_is_in_bits_and_far_sharper_than_two_errors():
    random = np.random.default_rng(0)
    hard = random.normal(2, 0.5, 256)
    first = arrays(anchored_128=hard + 0.02 * np.log(2) + random.normal(0, 0.01, 256))
    second = arrays(anchored_128=hard)
    found = paired_difference(first, second, "anchored_128")
    assert found.bits_per_byte == pytest.approx(0.02, abs=0.003)
    assert found.standard_error < 0.002 < standard_error(hard, first["document"])
    assert found.significant
    assert found.count == 256
    reverse = paired_difference(second, first, "anchored_128")
    assert reverse.bits_per_byte == -found.bits_per_byte
    assert reverse.significant


def test_noise_is_not_significant_and_equal_models_do_not_differ():
    random = np.random.default_rng(0)
    first, second = (arrays(anchored_128=random.normal(size=256)) for _ in range(2))
    assert not paired_difference(first, second, "anchored_128").significant
    same = paired_difference(first, first, "anchored_128")
    assert (same.bits_per_byte, same.standard_error, same.significant) == (0, 0, False)


def test_two_lengths_of_one_model_pair_as_well():
    one = arrays(anchored_64=np.full(256, np.log(4)), anchored_128=np.full(256, np.log(2)))
    assert paired_difference(one, one, "anchored_64", "anchored_128").bits_per_byte == 1


def test_other_anchors_are_refused():
    first, second = arrays(a=np.ones(256)), arrays(a=np.ones(256))
    second["position"] = second["position"] + 1
    with pytest.raises(ValueError, match="different anchors"):
        paired_difference(first, second, "a")
