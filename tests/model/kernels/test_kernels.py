"""Every kernel against plain float64 numpy."""

import numpy as np
import pytest
import torch

from posexp import AttentionDims, Compose, PositionScheme, SlidingWindow
from posexp.model import Layout
from posexp.model.kernels import KERNELS
from posexp.model.kernels.key_side import attend_with_columns, mask_beside_causal

H, D = 4, 8
SLOPES = [0.5, 0.25, 0.1, 0.0123]


class Slopes(PositionScheme):
    def distance_slopes(self, device):
        return torch.tensor(SLOPES, device=device)


class Vectors(PositionScheme):
    """Key and value vectors by clipped distance, different in every head."""

    def __init__(self, dims=None):
        super().__init__(dims=dims)
        generator = torch.Generator().manual_seed(5)
        self.keys = torch.nn.Parameter(torch.randn(H, 7, D, generator=generator))
        self.values = torch.nn.Parameter(torch.randn(H, 7, D, generator=generator))

    saturates_at = 3

    def distance_keys(self, n):
        return self.keys[:, n.clamp(-3, 3) + 3]

    def distance_values(self, n):
        return self.values[:, n.clamp(-3, 3) + 3]


class FromBoth(PositionScheme):
    """A bias that is not a function of distance."""

    def bias(self, q_positions, k_positions):
        product = q_positions[..., :, None] * k_positions[..., None, :]
        heads = torch.arange(1.0, H + 1)[:, None, None]
        return torch.sin(product[..., None, :, :] * heads)


class Flat(PositionScheme):
    """A bias that every key shares, which the softmax ignores."""

    def distance_bias(self, n):
        return torch.ones(H, len(n))


class Learned(PositionScheme):
    """A table by distance, clipped at 3."""

    def __init__(self, dims=None):
        super().__init__(dims=dims)
        self.table = torch.nn.Parameter(torch.randn(H, 4))

    def distance_bias(self, n):
        return self.table[:, n.clamp(0, 3)]


def inputs(length, kv_heads=H, batch=2, dtype=torch.float32):
    generator = torch.Generator().manual_seed(length)
    sizes = [(batch, H, length, D)] + 2 * [(batch, kv_heads, length, D)]
    return [torch.randn(size, generator=generator).to(dtype).requires_grad_() for size in sizes]


def plain_layout(length, causal=True):
    return Layout.of_tokens(torch.zeros(2, length), causal=causal)


def run(name, scheme, layout, q, k, v):
    kernel = KERNELS[name]
    return kernel.attend(q, k, v, kernel.prepare(scheme, layout), 0.0)


def numpy_attention(q, k, v, visible, bias=0.0, keys=None, values=None):
    """(B, H, T, d), then loops over everything; keys and values are (H, T, S, d)."""
    q, k, v = (x.detach().double().numpy() for x in (q, k, v))
    repeat = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeat, 1), np.repeat(v, repeat, 1)
    bias = np.broadcast_to(bias, (H, q.shape[2], k.shape[2]))
    out = np.zeros_like(q)
    for b, h, i in np.ndindex(q.shape[:3]):
        seen = np.flatnonzero(visible[b, i])
        if not len(seen):
            continue
        logits = []
        for j in seen:
            key = k[b, h, j] + (0 if keys is None else keys[h, i, j])
            logits.append(q[b, h, i] @ key + bias[h, i, j])
        weights = np.exp(logits - np.max(logits))
        weights /= weights.sum()
        for weight, j in zip(weights, seen, strict=True):
            out[b, h, i] += weight * (v[b, h, j] + (0 if values is None else values[h, i, j]))
    return out


def causal_numpy(length, window=10**9):
    n = np.arange(length)[:, None] - np.arange(length)
    return np.broadcast_to((n >= 0) & (n < window), (2, length, length))


@pytest.mark.parametrize("length", [1, 2, 7, 16])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("name", ["sdpa", "eager"])
def test_no_signal(name, length, kv_heads):
    q, k, v = inputs(length, kv_heads)
    out = run(name, PositionScheme(), plain_layout(length), q, k, v)
    expected = numpy_attention(q, k, v, causal_numpy(length))
    np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("length", [1, 7, 16])
@pytest.mark.parametrize("kv_heads", [2, 4])
@pytest.mark.parametrize("name", ["key_side", "by_distance", "tiled", "eager"])
def test_a_bias_linear_in_distance(name, length, kv_heads):
    q, k, v = inputs(length, kv_heads)
    out = run(name, Slopes(), plain_layout(length), q, k, v)
    n = np.arange(length)[:, None] - np.arange(length)
    bias = -np.array(SLOPES)[:, None, None] * np.abs(n)
    expected = numpy_attention(q, k, v, causal_numpy(length), bias)
    np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["folded", "sdpa_mask", "tiled", "eager"])
@pytest.mark.parametrize(("window", "length"), [(1, 9), (3, 9), (100, 9), (3, 70), (20, 150)])
def test_a_window(name, window, length):
    q, k, v = inputs(length)
    out = run(name, SlidingWindow(window), plain_layout(length), q, k, v)
    expected = numpy_attention(q, k, v, causal_numpy(length, window))
    np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 9, 70])
@pytest.mark.parametrize("kv_heads", [2, 4])
@pytest.mark.parametrize("name", ["band", "eager"])
def test_key_and_value_vectors_by_distance(name, kv_heads, length):
    scheme = Vectors()
    q, k, v = inputs(length, kv_heads)
    with torch.no_grad():
        out = run(name, scheme, plain_layout(length), q, k, v)
    index = np.clip(np.arange(length)[:, None] - np.arange(length), -3, 3) + 3
    keys, values = (t.detach().double().numpy()[:, index] for t in (scheme.keys, scheme.values))
    expected = numpy_attention(q, k, v, causal_numpy(length), 0.0, keys, values)
    np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("name", ["tiled", "eager"])
def test_a_bias_of_both_positions_composed_with_one_of_distance(name):
    q, k, v = inputs(6)
    out = run(name, Compose(FromBoth(), Slopes()), plain_layout(6), q, k, v)
    i, j = np.arange(6)[:, None], np.arange(6)
    heads = np.arange(1, H + 1)[:, None, None]
    bias = np.sin(heads * (i * j)) - np.array(SLOPES)[:, None, None] * np.abs(i - j)
    expected = numpy_attention(q, k, v, causal_numpy(6), bias)
    np.testing.assert_allclose(out.detach().numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("scheme", [Slopes(), Vectors()], ids=["bias", "vectors"])
def test_positions_that_are_not_consecutive(scheme):
    """The same rows as queries and keys of a longer sequence, with the tokens between left out."""
    positions = torch.tensor([[0, 2, 3, 7, 11], [1, 4, 5, 6, 20]])
    layout = Layout.of_tokens(torch.zeros(2, 5), positions=positions)
    q, k, v = inputs(5)
    out = run("eager", scheme, layout, q, k, v).detach().numpy()
    n = (positions[:, :, None] - positions[:, None, :]).numpy()
    for b in range(2):
        bias, keys, values = 0.0, None, None
        if isinstance(scheme, Slopes):
            bias = -np.array(SLOPES)[:, None, None] * np.abs(n[b])
        else:
            index = np.clip(n[b], -3, 3) + 3
            keys = scheme.keys.detach().double().numpy()[:, index]
            values = scheme.values.detach().double().numpy()[:, index]
        expected = numpy_attention(q, k, v, causal_numpy(5), bias, keys, values)
        np.testing.assert_allclose(out[b], expected[b], atol=1e-5)


@pytest.mark.parametrize("name", ["sdpa_mask", "tiled", "eager"])
def test_a_row_that_sees_nothing_gives_zeros_and_finite_gradients(name):
    real = torch.tensor([[False, False, True, True, True], [True] * 5])
    layout = Layout.of_tokens(torch.zeros(2, 5), real=real)
    q, k, v = inputs(5)
    scheme = Flat() if name == "tiled" else PositionScheme()
    out = run(name, scheme, layout, q, k, v)
    assert not out[0, :, :2].any()
    visible = causal_numpy(5) & real.numpy()[:, None, :]
    np.testing.assert_allclose(out.detach().numpy(), numpy_attention(q, k, v, visible), atol=1e-5)
    for grad in torch.autograd.grad(out.square().sum(), (q, k, v)):
        assert grad.isfinite().all()


def test_more_keys_than_queries_align_at_the_end():
    q, k, v = inputs(6)
    whole = run("eager", Slopes(), plain_layout(6), q, k, v)
    layout = Layout(torch.arange(4, 6), torch.arange(6))
    for name in ("eager", "sdpa_mask"):
        scheme = Slopes() if name == "eager" else PositionScheme()
        whole = run("eager", scheme, plain_layout(6), q, k, v)
        last = run(name, scheme, layout, q[:, :, 4:], k, v)
        torch.testing.assert_close(last, whole[:, :, 4:], atol=1e-5, rtol=0)


def float64_slopes(q, k, v):
    n = torch.arange(q.shape[2])[:, None] - torch.arange(q.shape[2])
    bias = -torch.tensor(SLOPES, dtype=torch.float64)[:, None, None] * n
    scores = (q.double() @ k.double().mT + bias).masked_fill(n < 0, -torch.inf)
    return scores.softmax(-1) @ v.double()


@pytest.mark.parametrize("form", ["mask", "columns"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-4), (torch.bfloat16, 0.06)])
def test_long_rows_keep_their_distances(form, dtype, tolerance):
    """At 2048 a bias rounded to bfloat16 is wrong by more than 1 (autocast does that to a mask)."""
    q, k, v = (x.detach() for x in inputs(2048, batch=1, dtype=dtype))
    scheme, layout = Slopes(), plain_layout(2048)
    if form == "mask":
        assert mask_beside_causal("cpu", dtype)
        out = run("key_side", scheme, layout, q, k, v)
    else:
        slopes, from_last = KERNELS["key_side"].prepare(scheme, layout)
        out = attend_with_columns(q, k, v, slopes, from_last)
    assert (out - float64_slopes(q, k, v)).abs().max() < tolerance


def test_columns_give_learned_slopes_their_gradient():
    slopes = torch.tensor(SLOPES, requires_grad=True)
    q, k, v = inputs(12)
    weights = torch.randn(2, H, 12, D)
    from_last = torch.arange(12) - 11
    (got,) = torch.autograd.grad(
        (attend_with_columns(q, k, v, slopes, from_last) * weights).sum(), slopes
    )
    n = torch.arange(12)[:, None] - torch.arange(12)
    scores = (q @ k.mT - slopes[:, None, None] * n).masked_fill(n < 0, -torch.inf)
    (expected,) = torch.autograd.grad((scores.softmax(-1) @ v * weights).sum(), slopes)
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


def test_the_scheme_is_asked_once_for_all_layers_of_a_pass():
    from posexp.model import ModelConfig, Transformer
    from posexp.model.init import init_weights

    class Counting(FromBoth):
        calls = 0

        def bias(self, q_positions, k_positions):
            Counting.calls += 1
            return super().bias(q_positions, k_positions)

    config = ModelConfig(n_layers=3, d_model=32, n_heads=H)
    model = Transformer(config, Counting(None, AttentionDims(32, H, 3)), 11, 8)
    init_weights(model, 0)
    model(torch.zeros(1, 8, dtype=torch.long))
    assert Counting.calls == 1


@pytest.mark.parametrize("name", ["by_distance", "tiled", "eager"])
def test_a_learned_bias_gets_its_gradient_and_evaluates_to_the_same(name):
    """P23."""
    scheme, layout = Learned(), plain_layout(7)
    q, k, v = inputs(7)
    weights = torch.randn(2, H, 7, D)
    trained = run(name, scheme, layout, q, k, v)
    (got,) = torch.autograd.grad((trained * weights).sum(), scheme.table)
    n = torch.arange(7)[:, None] - torch.arange(7)
    scores = q @ k.mT + scheme.table[:, n.clamp(0, 3)]
    out = scores.masked_fill(n < 0, -torch.inf).softmax(-1) @ v
    (expected,) = torch.autograd.grad((out * weights).sum(), scheme.table)
    torch.testing.assert_close(got, expected, atol=1e-5, rtol=1e-4)
    assert got.any()
    with torch.no_grad():
        evaluated = run(name, scheme, layout, q, k, v)
    torch.testing.assert_close(evaluated, out, atol=1e-5, rtol=0)


@pytest.mark.parametrize("length", [5, 150])
def test_a_band_with_vectors_and_a_bias(length):
    """Composed with a table that saturates at 3 as well."""

    class Saturating(Learned):
        saturates_at = 3

    scheme, layout = Compose(Vectors(), Saturating()), plain_layout(length)
    assert scheme.saturates_at == 3
    q, k, v = inputs(length)
    expected = run("eager", scheme, layout, q, k, v)
    with torch.no_grad():
        torch.testing.assert_close(
            run("band", scheme, layout, q, k, v), expected, atol=1e-5, rtol=0
        )
    assert Compose(Vectors(), Learned()).saturates_at is None
