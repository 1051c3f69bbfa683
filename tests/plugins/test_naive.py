import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme


def embed(name, positions, d_model=6, dtype=torch.float32):
    """What a scheme makes of a random input, and the input."""
    scheme = build_scheme({"name": name}, AttentionDims(d_model, 1))
    positions = torch.tensor(positions)
    x = torch.randn(2, positions.shape[-1], d_model).to(dtype)
    return scheme.embed(x, positions), x.numpy() if dtype == torch.float32 else x


def test_raw_index_changes_coordinate_0():
    found, x = embed("raw_index", [[0, 1, 2], [7, 8, 4000]])
    x[..., 0] += np.array([[0, 1, 2], [7, 8, 4000]])
    np.testing.assert_allclose(found.numpy(), x, rtol=1e-6)


def test_normalized_index_divides_by_each_rows_length():
    """The second row is two pads at position 0, then three tokens: its length is 3."""
    found, x = embed("normalized_index", [[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]])
    x[..., 0] += np.array([[0, 0.2, 0.4, 0.6, 0.8], [0, 0, 0, 1 / 3, 2 / 3]])
    np.testing.assert_allclose(found.numpy(), x, atol=1e-6)


def test_normalized_index_moves_when_the_sequence_grows():
    short, _ = embed("normalized_index", list(range(4)))
    scheme = build_scheme({"name": "normalized_index"}, AttentionDims(6, 1))
    assert scheme.length_dependent
    zeros = torch.zeros(1, 8, 6)
    four = scheme.embed(zeros[:, :4], torch.arange(4))
    eight = scheme.embed(zeros, torch.arange(8))
    assert not torch.allclose(four, eight[:, :4])
    assert short.shape == (2, 4, 6)


def test_one_hot_changes_coordinate_p():
    found, x = embed("one_hot", [0, 5, 2])
    for t, p in enumerate([0, 5, 2]):
        x[:, t, p] += 1
    np.testing.assert_allclose(found.numpy(), x, rtol=1e-6)


def test_one_hot_sees_no_distance():
    scheme = build_scheme({"name": "one_hot"}, AttentionDims(6, 1))
    vectors = scheme.embed(torch.zeros(1, 6, 6), torch.arange(6))[0]
    assert torch.equal(vectors @ vectors.T, torch.eye(6))


def test_one_hot_ends_with_the_width():
    scheme = build_scheme({"name": "one_hot"}, AttentionDims(6, 1))
    assert scheme.max_length == 6
    with pytest.raises(ValueError, match=r"position 6 has no coordinate, the model is 6 wide"):
        scheme.embed(torch.zeros(1, 7, 6), torch.arange(7))


@pytest.mark.parametrize("name", ["raw_index", "normalized_index", "one_hot"])
def test_the_models_dtype_is_kept(name):
    found, x = embed(name, [0, 1, 2], dtype=torch.bfloat16)
    assert found.dtype == torch.bfloat16
    assert not torch.equal(found, x)
