import numpy as np
import pytest
import torch

from posexp.generation.choice import greedy, make_choice

LOGITS = torch.tensor([[0.0, 2.0, 1.0, -1.0], [3.0, 0.0, 0.0, 0.0]])


def drawn(temperature, top_k=None, seed=0, logits=LOGITS, times=4000):
    choose = make_choice(temperature, top_k, seed, len(logits))
    return torch.stack([choose(logits) for _ in range(times)], dim=1).numpy()


def shares(row):
    return np.bincount(row, minlength=4) / len(row)


def softmax(x):
    e = np.exp(np.asarray(x) - max(x))
    return e / e.sum()


def test_greedy_takes_the_likeliest():
    assert make_choice(None, None, None, 2) is greedy
    assert greedy(LOGITS).tolist() == [1, 0]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_draws_follow_the_softmax(temperature):
    """4000 draws: a share is within 0.03 in all but one of 10,000 cases."""
    for row, logits in zip(drawn(temperature), LOGITS.tolist(), strict=True):
        expected = softmax([x / temperature for x in logits])
        np.testing.assert_allclose(shares(row), expected, atol=0.03)


def test_top_k_leaves_the_k_likeliest():
    found = shares(drawn(1.0, top_k=2)[0])
    np.testing.assert_allclose(found, [0, *softmax([2.0, 1.0]), 0], atol=0.03)


def test_top_1_is_greedy():
    assert (drawn(5.0, top_k=1, times=20) == greedy(LOGITS)[:, None].numpy()).all()


def test_a_row_draws_the_same_whatever_stands_beside_it():
    both, alone = drawn(1.0, times=50), drawn(1.0, logits=LOGITS[:1], times=50)
    np.testing.assert_array_equal(both[0], alone[0])
    same = drawn(1.0, logits=LOGITS[[0, 0]], times=50)
    assert (same[0] != same[1]).any()


def test_seeds():
    np.testing.assert_array_equal(drawn(1.0, seed=7, times=50), drawn(1.0, seed=7, times=50))
    np.testing.assert_array_equal(drawn(1.0, seed=None, times=50), drawn(1.0, seed=0, times=50))
    assert (drawn(1.0, seed=7, times=50) != drawn(1.0, seed=8, times=50)).any()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((0.0, None, None), "--temperature must be positive"),
        ((-1.0, None, None), "--temperature must be positive"),
        ((float("nan"), None, None), "--temperature must be positive"),
        ((1.0, 0, None), "--top-k must be from 1 to 256"),
        ((1.0, 257, None), "--top-k must be from 1 to 256"),
        ((None, 5, None), "--top-k 5 .* give --temperature"),
        ((None, None, 5), "--seed 5 .* give --temperature"),
    ],
)
def test_bad_values(values, said):
    with pytest.raises(ValueError, match=said):
        make_choice(*values, 1)
