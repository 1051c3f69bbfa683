import math

import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme


def sinusoidal(d_model, **parameters):
    return build_scheme({"name": "sinusoidal", **parameters}, AttentionDims(d_model, 1))


def vectors(d_model, positions, **parameters):
    """What `embed` adds to a zero input, in float64."""
    x = torch.zeros(1, len(positions), d_model, dtype=torch.float64)
    return sinusoidal(d_model, **parameters).embed(x, torch.tensor(positions))[0].numpy()


def reference(position, width, layout, exponent, theta=10000.0):
    """One vector by plain loops."""
    if exponent == "paper":
        law = lambda k: theta ** (-2 * k / width)  # noqa: E731
    else:
        law = lambda k: math.exp(-k * math.log(theta) / (width // 2 - 1))  # noqa: E731
    result = [0.0] * width
    for k in range((width + 1) // 2):
        sine, cosine = math.sin(position * law(k)), math.cos(position * law(k))
        columns = (2 * k, 2 * k + 1) if layout == "interleaved" else (k, width // 2 + k)
        whole_pair = 2 * k + 1 < width
        if whole_pair:
            result[columns[0]], result[columns[1]] = sine, cosine
        elif layout == "interleaved" and exponent == "paper":
            result[2 * k] = sine
    return result


def test_paper_vectors():
    expected = [
        [0.84147098, 0.54030231, 0.09983342, 0.99500417, 0.00999983, 0.99995, 0.001, 0.9999995],
        [0.14112001, -0.98999250, 0.29552021, 0.95533649, 0.02999550, 0.99955003, 0.003, 0.9999955],
    ]
    np.testing.assert_allclose(vectors(8, [1, 3]), expected, atol=1e-8)


def test_tensor2tensor_vector():
    expected = [0.84147098, 0.04639922, 0.00215443, 0.0001]
    expected += [0.54030231, 0.99892298, 0.99999768, 0.999999995]
    found = vectors(8, [1], layout="halves", exponent="tensor2tensor")
    np.testing.assert_allclose(found[0], expected, atol=1e-8)


def test_products_with_position_0():
    pe = vectors(8, range(6), layout="halves", exponent="tensor2tensor")
    paper = vectors(8, range(6))
    expected = [4, 3.53525597, 2.56371775, 1.96488953, 2.26660948, 3.15998251]
    np.testing.assert_allclose(paper @ paper[0], expected, atol=1e-8)
    assert not np.allclose(pe @ pe[0], expected)


@pytest.mark.parametrize("width", [4, 5, 8, 9, 64])
@pytest.mark.parametrize("layout", ["interleaved", "halves"])
@pytest.mark.parametrize("exponent", ["paper", "tensor2tensor"])
def test_every_form_against_plain_loops(width, layout, exponent):
    positions = [0, 1, 7, 300]
    found = vectors(width, positions, layout=layout, exponent=exponent, theta=500.0)
    expected = [reference(p, width, layout, exponent, 500.0) for p in positions]
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_odd_width_ends_with_a_sine():
    """P27."""
    found = vectors(5, [0, 3, 11])
    assert found.shape == (3, 5)
    np.testing.assert_allclose(found[:, -1], np.sin(np.array([0, 3, 11]) / 10000**0.8), atol=1e-9)


def test_odd_width_of_tensor2tensor_ends_with_zeros():
    found = vectors(5, [0, 3, 11], layout="halves", exponent="tensor2tensor")
    assert np.all(found[:, -1] == 0)
    assert np.all(found[1:, :2] != 0)


@pytest.mark.parametrize("shape", [(4,), (2, 4)])
def test_input_plus_vector(shape):
    """P28: what a scaled embedding becomes."""
    positions = torch.tensor([3, 0, 9, 1]).expand(shape)
    x = torch.randn(2, 4, 8)
    found = sinusoidal(8).embed(16.0 * x, positions)
    added = torch.tensor([reference(p, 8, "interleaved", "paper") for p in (3, 0, 9, 1)])
    torch.testing.assert_close(found, 16.0 * x + added, atol=1e-5, rtol=0)


def test_bfloat16_model():
    """P01: the angles are float32 even where the model is bfloat16."""
    positions = [255, 256, 257, 1857]
    scheme = sinusoidal(8).bfloat16()
    x = torch.zeros(1, 4, 8, dtype=torch.bfloat16)
    found = scheme.embed(x, torch.tensor(positions))
    assert found.dtype == torch.bfloat16
    expected = [reference(p, 8, "interleaved", "paper") for p in positions]
    np.testing.assert_allclose(found[0].float().numpy(), expected, atol=1e-2)
    assert not torch.equal(found[0, 1], found[0, 2])


@pytest.mark.parametrize(
    ("width", "parameters", "message"),
    [
        (8, {"layout": "half"}, "layout is interleaved or halves, got 'half'"),
        (8, {"exponent": "t2t"}, "exponent is paper or tensor2tensor, got 't2t'"),
        (8, {"theta": 0.0}, "theta must be positive, got 0.0"),
        (3, {"exponent": "tensor2tensor"}, "needs d_model >= 4, got 3"),
        (1, {"layout": "halves"}, "needs d_model >= 2, got 1"),
    ],
)
def test_refusals(width, parameters, message):
    with pytest.raises(ValueError, match=message):
        sinusoidal(width, **parameters)
