import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme


def interpolated(d_head=16, **parameters):
    return build_scheme(
        {"name": "position_interpolation", **parameters}, AttentionDims(2 * d_head, 2)
    )


@pytest.mark.parametrize("layout", ["interleaved", "half"])
def test_a_position_stands_where_its_quotient_stood(layout):
    """In float64: R at p with factor s is RoPE's R at p/s."""
    rope = build_scheme({"name": "rope", "layout": layout}, AttentionDims(32, 2))
    x = torch.randn(1, 2, 5, 16, dtype=torch.float64)
    found = interpolated(layout=layout, factor=8.0).transform_key(x, 8 * torch.arange(5))
    torch.testing.assert_close(found, rope.transform_key(x, torch.arange(5)))


def test_against_transformers():
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=64,
        num_attention_heads=2,
        rope_parameters={"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
    )
    expected, factor = ROPE_INIT_FUNCTIONS["linear"](config, device="cpu")
    scheme = interpolated(32, theta=1e6, factor=8.0)
    found = scheme.frequencies(torch.arange(1), torch.float64)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    assert scheme.amplitude == factor == 1.0


@pytest.mark.parametrize(
    ("parameters", "said"),
    [({"factor": 0.5}, "factor must be at least 1, got 0.5"), ({"theta": 0.0}, "theta must be")],
)
def test_bad_values(parameters, said):
    with pytest.raises(ValueError, match=said):
        interpolated(**parameters)
