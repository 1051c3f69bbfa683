import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme

LAYOUTS = ["interleaved", "half"]


def rope(d_head=8, n_heads=1, **parameters):
    return build_scheme({"name": "rope", **parameters}, AttentionDims(d_head * n_heads, n_heads))


def turn(x, position, **parameters):
    """One vector rotated to one position, in float64."""
    x = torch.as_tensor(np.asarray(x, dtype=np.float64))
    scheme = rope(len(x), **parameters)
    return scheme.transform_query(x[None, None, None], torch.tensor([position]))[0, 0, 0].numpy()


def reference(x, position, width, layout, theta=10000.0):
    """2 x 2 rotations of the pairs of the first `width` columns."""
    result = np.array(x, dtype=np.float64)
    for k in range(width // 2):
        angle = position * theta ** (-2 * k / width)
        a, b = (2 * k, 2 * k + 1) if layout == "interleaved" else (k, k + width // 2)
        matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        result[[a, b]] = matrix @ np.asarray(x, dtype=np.float64)[[a, b]]
    return result


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("half", [-1.9841, 1.9599, 2.4624, 4.0198]),
        ("interleaved", [-1.1426, 1.9221, 2.9599, 4.0298]),
    ],
)
def test_pair_layouts_by_hand(layout, expected):
    """P04."""
    np.testing.assert_allclose(turn([1, 2, 3, 4], 1, layout=layout), expected, atol=5e-5)


INTERLEAVED_AT_1 = """
    -1.14263966 1.9220756 2.58567883 4.27951691 4.939751 6.04969917 6.9919965 8.006996"""
HALF_AT_1 = """
    -3.66705262 1.39100783 2.92985117 3.991998 3.54298251 6.16969182 7.0296495 8.003996"""


@pytest.mark.parametrize(
    ("layout", "numbers"), [("interleaved", INTERLEAVED_AT_1), ("half", HALF_AT_1)]
)
def test_width_8_by_hand(layout, numbers):
    expected = [float(number) for number in numbers.split()]
    np.testing.assert_allclose(turn(range(1, 9), 1, layout=layout), expected, atol=1e-8)


def test_partial_by_hand():
    """P05."""
    expected = [-1.9841, 1.9599, 2.4624, 4.0198, 5, 6, 7, 8]
    found = turn(range(1, 9), 1, layout="half", fraction=0.5)
    np.testing.assert_allclose(found, expected, atol=5e-5)


@pytest.mark.parametrize(
    ("layout", "key_ahead", "key_behind"),
    [("interleaved", -1.83359584, -1.30211533), ("half", -4.08262099, -2.69042840)],
)
def test_products_by_hand(layout, key_ahead, key_behind):
    """q . k of a fixed draw, the key 4 positions ahead of the query and 4 behind it."""
    generator = np.random.default_rng(0)
    q, k = generator.normal(size=8), generator.normal(size=8)
    for start in (0, 3, 100):
        ahead = turn(q, start, layout=layout) @ turn(k, start + 4, layout=layout)
        behind = turn(q, start + 4, layout=layout) @ turn(k, start, layout=layout)
        np.testing.assert_allclose([ahead, behind], [key_ahead, key_behind], atol=1e-8)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fraction", [1.0, 0.75, 0.25])
def test_against_rotation_matrices(layout, fraction):
    scheme = rope(8, n_heads=2, layout=layout, fraction=fraction, theta=300.0)
    x = torch.randn(2, 2, 4, 8, dtype=torch.float64)
    positions = torch.tensor([[0, 5, 2, 900], [3, 3, 1, 0]])
    for transform in (scheme.transform_query, scheme.transform_key):
        found = transform(x, positions)
        for b, h, t in np.ndindex(2, 2, 4):
            width = scheme.rotary_width
            expected = reference(x[b, h, t].numpy(), positions[b, t].item(), width, layout, 300.0)
            np.testing.assert_allclose(found[b, h, t].numpy(), expected, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_memory_layout(layout):
    """An odd head, a slice that starts at an odd place, columns that lie apart, no tokens."""
    positions = torch.arange(3)
    wide = torch.randn(1, 2, 3, 11, dtype=torch.float64)
    scheme = rope(5, layout=layout, fraction=0.8)
    for x in (wide[..., :5], wide[..., 1:6], wide[..., ::2][..., :5], torch.randn(1, 2, 5, 3).mT):
        found = scheme.transform_query(x, positions)
        for h, t in np.ndindex(2, 3):
            expected = reference(x[0, h, t].numpy(), t, 4, layout)
            np.testing.assert_allclose(found[0, h, t].numpy(), expected, atol=1e-6)
    assert scheme.transform_query(wide[:, :, :0, :5], positions[:0]).shape == (1, 2, 0, 5)


def test_half_of_permuted_is_permuted_interleaved():
    x, permutation = np.arange(1.0, 9.0), [0, 2, 4, 6, 1, 3, 5, 7]
    found = turn(x[permutation], 5, layout="half")
    np.testing.assert_allclose(found, turn(x, 5, layout="interleaved")[permutation], atol=1e-12)


def test_half_against_transformers():
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    config = LlamaConfig(
        hidden_size=32,
        num_attention_heads=2,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4},
    )
    q, k = torch.randn(2, 1, 2, 50, 16)
    positions = torch.arange(7, 57)
    cos, sin = LlamaRotaryEmbedding(config)(q, positions[None])
    scheme = rope(16, n_heads=2, layout="half")
    found = scheme.transform_query(q, positions), scheme.transform_key(k, positions)
    torch.testing.assert_close(found, apply_rotary_pos_emb(q, k, cos, sin), atol=1e-5, rtol=0)


def test_interleaved_against_transformers():
    from transformers.models.gptj.modeling_gptj import (
        apply_rotary_pos_emb,
        create_sinusoidal_positions,
    )

    x, positions = torch.randn(1, 2, 50, 16), torch.arange(7, 57)
    sin, cos = create_sinusoidal_positions(60, 16)[positions][None].split(8, dim=-1)
    expected = apply_rotary_pos_emb(x.transpose(1, 2), sin, cos).transpose(1, 2)
    found = rope(16, n_heads=2, layout="interleaved").transform_key(x, positions)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bfloat16_model(layout):
    """P01: the angles are float32 even where the model is bfloat16."""
    positions = [255, 256, 257, 1857]
    x = torch.ones(1, 1, 4, 8, dtype=torch.bfloat16)
    found = rope(layout=layout).bfloat16().transform_query(x, torch.tensor(positions))
    assert found.dtype == torch.bfloat16
    expected = [reference(np.ones(8), p, 8, layout) for p in positions]
    np.testing.assert_allclose(found[0, 0].float().numpy(), expected, atol=1e-2)
    assert not torch.equal(found[0, 0, 1], found[0, 0, 2])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_earlier_calls_leave_no_trace(layout):
    """P07."""
    used, x = rope(layout=layout), torch.randn(1, 1, 24, 8)
    for length in (8, 24, 8):
        fresh = rope(layout=layout).transform_key(x[:, :, :length], torch.arange(length))
        assert torch.equal(used.transform_key(x[:, :, :length], torch.arange(length)), fresh)
    whole = used.transform_key(x, torch.arange(24))
    later = used.transform_key(x[:, :, 3:11], torch.arange(3, 11))
    torch.testing.assert_close(later, whole[:, :, 3:11])
    assert not torch.allclose(used.transform_key(x[:, :, 3:11], torch.arange(8)), later)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients(layout):
    scheme = rope(8, layout=layout, fraction=0.5)
    x = torch.randn(1, 2, 3, 8, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda q: scheme.transform_query(q, torch.arange(5, 8)), x)


@pytest.mark.parametrize(
    ("d_head", "parameters", "message"),
    [
        (5, {}, r"rotary width of 5, .* nearest: 4 \(fraction=0.8\)"),
        (
            10,
            {"fraction": 0.3},
            r"width of 3, .* nearest: 2 \(fraction=0.2\) or 4 \(fraction=0.4\)",
        ),
        (8, {"fraction": 0.1}, r"width of 0, .* nearest: 2 \(fraction=0.25\)"),
        (1, {}, "a head at least 2 wide"),
        (8, {"fraction": 1.5}, r"fraction must be in \(0, 1\], got 1.5"),
        (8, {"layout": "halves"}, "layout is interleaved or half, got 'halves'"),
        (8, {"theta": -1.0}, "theta must be positive, got -1.0"),
    ],
)
def test_refusals(d_head, parameters, message):
    """P06 and its neighbours."""
    with pytest.raises(ValueError, match=message):
        rope(d_head, **parameters)


@pytest.mark.parametrize("d_head", [10, 49, 50, 98, 128])
def test_the_fraction_that_an_error_names_is_valid(d_head):
    for width in range(2, d_head + 1, 2):
        assert rope(d_head, fraction=width / d_head).rotary_width == width
