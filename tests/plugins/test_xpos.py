import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme


def xpos(d_head=8, n_heads=1, **dims):
    return build_scheme({"name": "xpos"}, AttentionDims(d_head * n_heads, n_heads, **dims))


def at(transform, x, position):
    """One float64 vector transformed at one position."""
    heads = torch.as_tensor(np.asarray(x, dtype=np.float64))[None, None, None]
    return transform(heads, torch.tensor([position]))[0, 0, 0].numpy()


def reference_product(q, k, i, j):
    """q_i . k_j in float64, pair by pair as complex numbers, decayed by the distance."""
    d = len(q)
    total = 0.0
    for pair in range(d // 2):
        two_k = 2 * pair
        zeta = (two_k / d + 0.4) / 1.4
        q_pair = complex(q[two_k], q[two_k + 1]) * np.exp(1j * i * 10000 ** (-two_k / d))
        k_pair = complex(k[two_k], k[two_k + 1]) * np.exp(1j * j * 10000 ** (-two_k / d))
        total += zeta ** ((i - j) / 512) * (q_pair * k_pair.conjugate()).real
    return total


def test_factors_by_hand():
    """z of width 8, read off a query of ones at position 512 against RoPE's."""
    rope = build_scheme({"name": "rope"}, AttentionDims(8, 1))
    turned, decayed = (at(s.transform_query, np.ones(8), 512) for s in (rope, xpos()))
    expected = np.repeat([0.28571429, 0.46428571, 0.64285714, 0.82142857], 2)
    np.testing.assert_allclose(decayed / turned, expected, atol=1e-8)


@pytest.mark.parametrize("start", [0, 3, 1000])
def test_product_by_hand(start):
    """A query 512 positions after its key; RoPE gives -2.58693118."""
    generator = np.random.default_rng(0)
    q, k = generator.normal(size=8), generator.normal(size=8)
    scheme = xpos()
    product = at(scheme.transform_query, q, start + 512) @ at(scheme.transform_key, k, start)
    np.testing.assert_allclose(product, -1.94033705, atol=1e-8)


@pytest.mark.parametrize("d_head", [2, 6, 64])
@pytest.mark.parametrize(("i", "j"), [(0, 0), (9, 2), (700, 650), (2000, 3)])
def test_products_against_complex_numbers(d_head, i, j):
    q, k = np.random.default_rng(1).normal(size=(2, d_head))
    scheme = xpos(d_head)
    product = at(scheme.transform_query, q, i) @ at(scheme.transform_key, k, j)
    np.testing.assert_allclose(product, reference_product(q, k, i, j), atol=1e-9)


@pytest.mark.parametrize("last", [1000, 10_000, 32_767])
def test_float32_is_exact_up_to_its_last_position(last):
    """Factors of up to 1e34 and 1e-34 cancel; what remains is the rounding of RoPE's angles."""
    q, k = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(0))
    scheme = xpos(16)
    for n in (0, 1, 100):
        q_at, k_at = torch.tensor([last]), torch.tensor([last - n])
        product = (scheme.transform_query(q, q_at) * scheme.transform_key(k, k_at)).sum().item()
        expected = reference_product(q.flatten().numpy(), k.flatten().numpy(), n, 0)
        np.testing.assert_allclose(product, expected, atol=2e-7 * last + 1e-5)


def test_bfloat16_model():
    """Scaled and turned in float32, rounded once."""
    x, positions = torch.ones(1, 1, 3, 8), torch.tensor([256, 257, 1857])
    exact = xpos().transform_key(x, positions)
    found = xpos().bfloat16().transform_key(x.bfloat16(), positions)
    assert torch.equal(found, exact.bfloat16())
    assert not torch.equal(found[0, 0, 0], found[0, 0, 1])


@pytest.mark.parametrize("positions", [[32_768], [0, 40_000]])
def test_positions_beyond_float32_are_refused(positions):
    x = torch.ones(1, 1, len(positions), 8)
    for transform in (xpos().transform_query, xpos().transform_key):
        with pytest.raises(ValueError, match=f"end at 32768, got {positions[-1]}"):
            transform(x, torch.tensor(positions))
    assert xpos().max_length == 32_768


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match="not a positive even number"):
        xpos(5)


def test_gradients():
    x = torch.randn(1, 2, 3, 8, dtype=torch.float64, requires_grad=True)
    for transform in (xpos().transform_query, xpos().transform_key):
        torch.autograd.gradcheck(lambda h, t=transform: t(h, torch.arange(500, 503)), x)
