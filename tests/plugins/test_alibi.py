import pytest
import torch

from posexp import AttentionDims, build_scheme

CPU = torch.device("cpu")


def alibi(n_heads, causal=True):
    return build_scheme({"name": "alibi"}, AttentionDims(4 * n_heads, n_heads, causal=causal))


EIGHT = [2.0**-h for h in range(1, 9)]


@pytest.mark.parametrize(
    ("n_heads", "slopes"),
    [
        (1, [0.00390625]),
        (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
        (8, EIGHT),
        (12, [*EIGHT, 0.70710678, 0.35355339, 0.1767767, 0.08838835]),
    ],
)
def test_slopes_by_hand(n_heads, slopes):
    """P19."""
    found = alibi(n_heads).distance_slopes(CPU)
    torch.testing.assert_close(found, torch.tensor(slopes), atol=1e-7, rtol=0)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 5, 7, 16, 20, 31, 32, 33, 112])
def test_slopes_against_transformers(n_heads):
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    length = 3
    bias = build_alibi_tensor(torch.ones(1, length), n_heads, torch.float32)
    torch.testing.assert_close(alibi(n_heads).distance_slopes(CPU), bias[:, 0, 1])


def test_bidirectional_is_symmetric():
    """P20."""
    positions = torch.arange(6)
    bias = alibi(6, causal=False).bias(positions, positions)
    assert bias.shape == (6, 6, 6)
    assert torch.equal(bias, bias.mT)
    assert bias.max() <= 0
    assert bias.diagonal(dim1=1, dim2=2).abs().max() == 0
    assert bias[0, 1, 4].item() == -0.25 * 3


def test_bias_is_exact_far_away_in_a_bfloat16_model():
    scheme = alibi(8).bfloat16()
    bias = scheme.distance_bias(torch.tensor([0, 255, 256, 257, 4095]))
    assert bias.dtype == torch.float32
    assert bias[0].tolist() == [0, -127.5, -128, -128.5, -2047.5]
