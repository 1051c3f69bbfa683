import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme


def dynamic(d_head=16, trained=512, **parameters):
    dims = AttentionDims(2 * d_head, 2, context_length=trained)
    return build_scheme({"name": "dynamic_ntk", **parameters}, dims)


def base(scheme, length):
    """theta' at a length, read off the second frequency, in float64."""
    w = scheme.frequencies(torch.arange(length), torch.float64).flatten()
    return (w[1] ** (-scheme.rotary_width / 2)).item()


@pytest.mark.parametrize(("factor", "expected"), [(1.0, 22081.790273), (4.0, 62924.947532)])
def test_the_base_by_hand(factor, expected):
    """The paper's s = T/L, and the code's factor 4: d = 16, base 10000, L = 512, T = 1024."""
    assert base(dynamic(factor=factor), 1024) == pytest.approx(expected, abs=1e-6)
    assert base(dynamic(factor=factor), 512) == pytest.approx(1e4, abs=1e-6)


def test_four_times_the_length_is_the_static_base():
    """The paper's form at s = 4 is NTK-aware scaling by 4."""
    assert base(dynamic(), 2048) == pytest.approx(48760.546168, abs=1e-6)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_the_last_frequency_is_interpolated(factor):
    scheme = dynamic(factor=factor)
    last = [scheme.frequencies(torch.arange(n), torch.float64).flatten()[-1] for n in (512, 1536)]
    assert (last[0] / last[1]).item() == pytest.approx(1 + factor * 2)


def test_lengths_6_20_6():
    """P08: trained length 8, factor 2."""
    scheme, x = dynamic(8, 8, factor=2.0), torch.randn(1, 2, 20, 8)
    first, long, again = (scheme.transform_key(x[:, :, :n], torch.arange(n)) for n in (6, 20, 6))
    assert torch.equal(first, again)
    assert not torch.allclose(long[:, :, :6], first, atol=1e-3)


def test_up_to_the_trained_length_it_is_rope():
    scheme, rope = dynamic(8, 12), build_scheme({"name": "rope"}, AttentionDims(16, 2))
    x = torch.randn(1, 2, 12, 8)
    positions = torch.arange(12)
    assert torch.equal(scheme.transform_key(x, positions), rope.transform_key(x, positions))


def test_each_row_has_its_own_length():
    scheme, x = dynamic(8, 8), torch.randn(2, 2, 16, 8)
    rows = torch.stack((torch.arange(16), (torch.arange(16) - 10).clamp(min=0)))
    both = scheme.transform_query(x, rows)
    for row in range(2):
        alone = scheme.transform_query(x[row : row + 1], rows[row])
        torch.testing.assert_close(both[row : row + 1], alone, atol=1e-6, rtol=0)


def test_trained_length_replaces_that_of_the_model():
    given = dynamic(8, 512, trained_length=8)
    assert given.steady_until == 8
    assert base(given, 16) == base(dynamic(8, 8), 16) != base(dynamic(8, 512), 16)


@pytest.mark.parametrize("fraction", [1.0, 0.5])
@pytest.mark.parametrize("length", [300, 512, 700, 2048])
def test_against_transformers(length, fraction):
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=64,
        num_attention_heads=2,
        max_position_embeddings=512,
        rope_parameters={
            "rope_type": "dynamic",
            "rope_theta": 1e4,
            "factor": 3.0,
            "partial_rotary_factor": fraction,
        },
    )
    expected, _ = ROPE_INIT_FUNCTIONS["dynamic"](config, device="cpu", seq_len=length)
    scheme = dynamic(32, 512, factor=3.0, fraction=fraction, layout="half")
    found = scheme.frequencies(torch.arange(length), torch.float64).flatten()
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"trained_length": 0}, "trained_length must be at least 1"),
        ({"factor": 0.0}, "factor must be positive"),
        ({"layout": "quarter"}, "interleaved or half"),
        ({"fraction": 0.125}, "rotary width is 2, at least 4"),
        ({"facotr": 2.0}, "did you mean 'factor'"),
    ],
)
def test_bad_values(parameters, said):
    with pytest.raises(ValueError, match=said):
        dynamic(**parameters)
