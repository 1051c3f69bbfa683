import itertools

import numpy as np
import pytest

from posexp.evaluation.statistics import (
    Resamples,
    paired_difference,
    resamples,
    standard_error,
    t_quantile,
)


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
    """Four anchors are two chunks of two; without the factor two means would spread too little."""
    values = np.array([1.0, 2.0, 4.0, 7.0])
    means = [np.concatenate(d).mean() for d in itertools.product(np.split(values, 2), repeat=2)]
    found = Resamples(np.zeros(4, int), resamples=20_000).standard_error(values)
    assert found == pytest.approx(np.std(means) * np.sqrt(2), rel=0.03)


def test_the_factor_gives_the_unbiased_error_of_the_mean_of_equal_chunks():
    """s / sqrt(u) with the usual u - 1 in s, over the means of u chunks."""
    values = np.random.default_rng(3).normal(size=81)
    chunks = values.reshape(9, 9).mean(axis=1)
    found = Resamples(np.zeros(81, int), resamples=20_000).standard_error(values)
    assert found == pytest.approx(chunks.std(ddof=1) / 3, rel=0.03)


def test_documents_are_drawn_whole():
    """Documents that differ and are constant inside: the error is that of document means."""
    level = np.random.default_rng(2).normal(size=40)
    documents = np.repeat(np.arange(40), 10)
    found = standard_error(level[documents], documents)
    assert found == pytest.approx(level.std(ddof=1) / np.sqrt(40), rel=0.1)


def test_two_documents_of_other_sizes_equal_the_enumeration():
    values = np.array([0.0, 1.0, 1.0, 1.0])  # one anchor, and three
    found = Resamples(np.array([4, 9, 9, 9]), resamples=20_000).standard_error(values)
    means = [0, 1, 3 / 4, 3 / 4]  # the first twice, the second twice, both in either order
    assert found == pytest.approx(np.std(means) * np.sqrt(2), rel=0.03)


@pytest.mark.parametrize(
    ("sizes", "freedom"),
    [([256], 15), ([64], 7), ([64] * 4, 3), ([6] * 40, 39), ([90, 10], 1), ([1], 1)],
)
def test_degrees_of_freedom(sizes, freedom):
    """One less than the chunks of a document, or than the documents; never under one."""
    documents = np.repeat(np.arange(len(sizes)), sizes)
    assert Resamples(documents).freedom == pytest.approx(freedom)


def test_documents_of_unequal_size_count_as_fewer():
    """130, 70, 40 and 16 anchors weigh as 256^2 / (130^2 + 70^2 + 40^2 + 16^2) = 2.77 documents."""
    documents = np.repeat(np.arange(4), [130, 70, 40, 16])
    assert Resamples(documents).freedom == pytest.approx(1.770, abs=1e-3)


def test_anchors_need_not_be_sorted_by_document():
    values, documents = np.arange(12.0), np.repeat([3, 1, 2], 4)
    shuffled = np.random.default_rng(0).permutation(12)
    expected = Resamples(documents).standard_error(values)
    assert Resamples(documents[shuffled]).standard_error(values[shuffled]) == pytest.approx(
        expected
    )


def test_one_layout_is_drawn_once():
    assert resamples(np.zeros(64, int)) is resamples(np.zeros(64, np.int32))
    assert resamples(np.zeros(64, int)) is not resamples(np.zeros(65, int))


def test_student_t_against_the_table_and_against_its_definition():
    """Textbook quantiles; for broken freedom, ratios of a normal to a root mean square."""
    for freedom, expected in ((1, 12.706), (2, 4.303), (7, 2.365), (15, 2.131), (1e9, 1.960)):
        assert t_quantile(0.975, freedom) == pytest.approx(expected, abs=5e-4)
    random = np.random.default_rng(0)
    drawn = random.normal(size=400_000) / np.sqrt(random.chisquare(2.5, 400_000) / 2.5)
    assert t_quantile(0.95, 2.5) == pytest.approx(np.quantile(drawn, 0.95), abs=0.03)


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
