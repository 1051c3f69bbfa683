import itertools

import pytest

from posexp.data.sampler import StepSampler


def test_n_is_step_times_batch_size_plus_index():
    assert list(StepSampler(2, 4, 3)) == [[6, 7, 8], [9, 10, 11]]


def test_p37_a_run_stopped_after_three_batches_of_two_goes_on_with_the_next():
    """P37, with the uninterrupted run as the second source."""
    whole = list(StepSampler(0, 10, 2))
    assert whole[3] == [6, 7]
    assert list(StepSampler(3, 10, 2)) == whole[3:]


@pytest.mark.parametrize("first_step", [0, 1, 4, 5])
@pytest.mark.parametrize(("accumulate", "world_size"), [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_ranks_and_micro_batches_only_divide_a_step(first_step, accumulate, world_size):
    """Joined over ranks and micro-batches, a step is the same samples for any division."""
    ranks = [
        list(StepSampler(first_step, 5, 12, accumulate, rank, world_size))
        for rank in range(world_size)
    ]
    for micro_batches in ranks:
        assert len(micro_batches) == (5 - first_step) * accumulate
    for step in range(first_step, 5):
        here = slice((step - first_step) * accumulate, (step - first_step + 1) * accumulate)
        parts = itertools.chain.from_iterable(zip(*(r[here] for r in ranks), strict=True))
        assert list(itertools.chain.from_iterable(parts)) == list(range(step * 12, step * 12 + 12))


@pytest.mark.parametrize("accumulate", [1, 4])
def test_a_resumed_sampler_equals_the_rest_of_an_uninterrupted_one(accumulate):
    whole = list(StepSampler(0, 7, 8, accumulate, 1, 2))
    for step in range(8):
        resumed = StepSampler(step, 7, 8, accumulate, 1, 2)
        assert list(resumed) == whole[step * accumulate :]
        assert len(resumed) == len(whole) - step * accumulate


def test_iterating_twice_gives_the_same():
    sampler = StepSampler(1, 3, 2)
    assert list(sampler) == list(sampler)


@pytest.mark.parametrize(
    ("batch_size", "accumulate", "world_size", "nearest"),
    [(10, 4, 1, "8 or 12"), (7, 2, 2, "4 or 8"), (3, 2, 4, "8")],
)
def test_a_batch_that_does_not_divide_names_the_nearest(
    batch_size, accumulate, world_size, nearest
):
    with pytest.raises(ValueError, match=f"batch_size = {batch_size}.* is {nearest}$"):
        StepSampler(0, 1, batch_size, accumulate, 0, world_size)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 1, 0), "batch_size must be 1 or more, not 0"),
        ((0, 1, 4, 0), "accumulate must be 1 or more, not 0"),
        ((0, 1, 4, 1, 0, 0), "devices must be 1 or more, not 0"),
        ((0, 1, 4, 1, 2, 2), "rank must be 0 to 1, not 2"),
        ((-1, 1, 4), "first_step must be 0 to max_steps = 1, not -1"),
        ((2, 1, 4), "first_step must be 0 to max_steps = 1, not 2"),
    ],
)
def test_counts_out_of_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        StepSampler(*arguments)
