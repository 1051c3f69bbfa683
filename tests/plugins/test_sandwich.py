import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme


def sandwich(n_heads=1, causal=True, **parameters):
    dims = AttentionDims(4 * n_heads, n_heads, causal=causal)
    return build_scheme({"name": "sandwich", **parameters}, dims)


def position_vector(p, width):
    """Sines, then cosines, as in "Attention Is All You Need"."""
    angles = [p / 10000 ** (2 * k / width) for k in range(width // 2)]
    return np.array([np.sin(angle) for angle in angles] + [np.cos(angle) for angle in angles])


def test_by_hand():
    """With 8 heads the first has the ratio 1: the bias is the sum itself."""
    found = sandwich(8).distance_bias(torch.tensor([0, 1, 10, 100, 1000]))
    expected = torch.tensor([64, 62.093684, 42.820023, 30.543455, 10.177728])
    torch.testing.assert_close(found[0], expected, atol=1e-4, rtol=0)
    torch.testing.assert_close(found[3], expected / 4, atol=1e-4, rtol=0)
    torch.testing.assert_close(found[7], expected / 8, atol=1e-4, rtol=0)


@pytest.mark.parametrize("n_heads", [1, 3, 12])
@pytest.mark.parametrize("width", [128, 10, 2])
def test_inner_products_of_position_vectors(width, n_heads):
    q_positions, k_positions = [0, 7, 300], [0, 5, 299]
    bias = sandwich(n_heads, width=width).bias(torch.tensor(q_positions), torch.tensor(k_positions))
    for h, t, s in np.ndindex(n_heads, 3, 3):
        q, k = position_vector(q_positions[t], width), position_vector(k_positions[s], width)
        expected = q @ k / ((h + 1) * 8 / n_heads)
        np.testing.assert_allclose(bias[h, t, s].item(), expected, atol=2e-3 * n_heads)


def test_both_directions_are_alike():
    n = torch.arange(1, 50)
    scheme = sandwich(2, causal=False)
    assert torch.equal(scheme.distance_bias(-n), scheme.distance_bias(n))


def test_exact_far_away_in_a_bfloat16_model():
    found = sandwich(8).bfloat16().distance_bias(torch.tensor([4096, 4097]))
    expected = [position_vector(n, 128) @ position_vector(0, 128) for n in (4096, 4097)]
    assert found.dtype == torch.float32
    np.testing.assert_allclose(found[0], expected, atol=1e-2)


@pytest.mark.parametrize("width", [0, 1, 7, -2])
def test_refusals(width):
    with pytest.raises(ValueError, match=f"even and at least 2, got {width}"):
        sandwich(width=width)
