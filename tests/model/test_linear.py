"""Linear attention against its definition in numpy, its recurrent form, and its memory."""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posexp import PositionScheme, build_scheme
from posexp.model import Cache, ModelConfig, Transformer, chunkwise, linear
from posexp.model.init import init_weights

ROPE = {"name": "rope"}


def phi(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def turned(x, positions, theta=10000.0):
    """RoPE by complex numbers: pairs (2k, 2k + 1) turned by p theta^(-2k/d)."""
    d = x.shape[-1]
    pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(
        1j * positions[:, None] * theta ** (-np.arange(0, d, 2) / d)
    )
    return np.stack((pairs.real, pairs.imag), -1).reshape(x.shape)


def definition(module, x, causal, rotate=True):
    """RoFormer, equation 19, pair by pair in float64; the layer's output."""
    weights = {name: p.detach().double().numpy() for name, p in module.named_parameters()}
    x, length = x.double().numpy(), x.shape[1]

    def heads(name):
        projected = x @ weights[f"{name}.weight"].T
        return projected.reshape(*x.shape[:2], -1, 8).transpose(0, 2, 1, 3)

    q, k, v = phi(heads("query")), phi(heads("key")), heads("value")
    k, v = (np.repeat(y, q.shape[1] // y.shape[1], axis=1) for y in (k, v))
    positions = np.arange(length)
    q_turned, k_turned = (turned(y, positions) if rotate else y for y in (q, k))
    seen = np.tril(np.ones((length, length))) if causal else np.ones((length, length))
    numerator = (q_turned @ k_turned.swapaxes(-1, -2) * seen) @ v
    denominator = (q @ k.swapaxes(-1, -2) * seen).sum(-1, keepdims=True)
    out = (numerator / denominator).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
    return out @ weights["out.weight"].T


def test_phi_stays_positive():
    x = torch.tensor([-40.0, -1.0, 0.0, 2.0], requires_grad=True)
    torch.testing.assert_close(linear.phi(x)[1:], torch.nn.functional.elu(x[1:]) + 1)
    assert linear.phi(x)[0] > 0
    linear.phi(x).sum().backward()
    torch.testing.assert_close(x.grad[1:], torch.tensor([np.exp(-1), 1, 1], dtype=torch.float32))


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("chunk", [1, 4, 64])
@torch.no_grad()
def test_equals_the_definition(monkeypatch, make_layer, causal, chunk):
    monkeypatch.setattr(chunkwise, "CHUNK", chunk)
    module, call = make_layer(ROPE, attention="linear", n_kv_heads=2, causal=causal)
    x = torch.randn(2, 10, 32)
    np.testing.assert_allclose(call(x).numpy(), definition(module, x, causal), atol=1e-5)


@torch.no_grad()
def test_only_the_numerator_is_turned(make_layer):
    """Without positions the weights add up to 1, and equal values come out as they went in."""
    for scheme, adds_up in (({"name": "nope"}, True), (ROPE, False)):
        module, call = make_layer(scheme, attention="linear")
        x = torch.randn(1, 10, 32)
        module.value.weight.zero_()
        module.value.bias = torch.nn.Parameter(torch.ones(32))
        same = torch.allclose(call(x), module.out(torch.ones(1, 10, 32)), atol=1e-5)
        assert same == adds_up


@pytest.mark.parametrize("causal", [True, False])
@torch.no_grad()
def test_packed_documents_over_chunks(monkeypatch, make_layer, causal):
    """Documents that end within chunks, at their edges, and that span several."""
    monkeypatch.setattr(chunkwise, "CHUNK", 4)
    _, call = make_layer(ROPE, attention="linear", causal=causal)
    x, rows = torch.randn(2, 20, 32), ([3, 5, 12], [8, 11, 1])
    documents, positions = (
        torch.tensor([[y for n, size in enumerate(row) for y in make(n, size)] for row in rows])
        for make in (lambda n, size: [n] * size, lambda _, size: range(size))
    )
    packed = call(x, documents=documents, positions=positions)
    for row, sizes in enumerate(rows):
        start = 0
        for size in sizes:
            alone = call(x[row : row + 1, start : start + size])
            found = packed[row : row + 1, start : start + size]
            torch.testing.assert_close(found, alone, atol=1e-5, rtol=0)
            start += size


def model_of(scheme, **config):
    sizes = ModelConfig(n_layers=2, d_model=32, n_heads=4, attention="linear", **config)
    model = Transformer(sizes, build_scheme(scheme, sizes.dims(24)), 29, 24)
    init_weights(model, 0)
    return model.eval()


def some_tokens(length):
    return torch.randint(29, (2, length), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_the_recurrent_form_holds_a_state_of_one_size():
    """d d_v + d numbers for a key/value head: 2 of width 8, float32, in 2 layers and 2 rows."""
    model, tokens = model_of(ROPE, n_kv_heads=2), some_tokens(24)
    cache, found = Cache(), []
    for t in range(24):
        found.append(model(tokens[:, t : t + 1], cache=cache))
        assert cache.nbytes == 2 * 2 * (2 * 8 * 9) * 4
    torch.testing.assert_close(torch.cat(found, 1), model(tokens), atol=1e-5, rtol=0)


class Largest(TorchDispatchMode):
    """The number of entries of the largest tensor that is made."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.entries = max(self.entries, out.numel())
        return out


def test_memory_is_linear_in_the_length():
    largest = {}
    for length in (512, 1024):
        with Largest() as seen:
            model_of(ROPE)(some_tokens(length)).sum().backward()
        largest[length] = seen.entries
    assert largest[1024] <= 2 * largest[512]


@torch.no_grad()
def test_sums_are_not_transformed_again():
    """Of keys that are held a later length can be made; of sums it cannot, whatever is accepted."""
    model = model_of({"name": "dynamic_ntk", "trained_length": 8})
    tokens, cache = some_tokens(12), Cache(stale=True)
    found = [model(tokens[:, :6], cache=cache), model(tokens[:, 6:8], cache=cache)]
    torch.testing.assert_close(torch.cat(found, 1), model(tokens[:, :8]), atol=1e-5, rtol=0)
    with pytest.raises(ValueError, match="beyond 8 tokens.*run the whole sequence$"):
        model(tokens[:, 8:9], cache=cache)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"kernel": "sdpa"}, "model.kernel=sdpa computes a softmax.*use model.kernel=auto"),
        ({"attention_dropout": 0.1}, "attention_dropout=0.1 drops attention weights"),
        ({"qk_norm": "after"}, "norms what the scheme turned.*before is legal"),
    ],
)
def test_what_goes_with_a_softmax_is_refused(config, words):
    with pytest.raises(ValueError, match=words):
        model_of(ROPE, **config)


def test_a_scale_of_logits_is_not_left_out_silently():
    scheme = PositionScheme()
    scheme.logit_scale = 1.0
    sizes = ModelConfig(n_layers=2, d_model=32, n_heads=4, attention="linear")
    with pytest.raises(ValueError, match="logit_scale=1 is a factor on logits"):
        Transformer(sizes, scheme, 29, 24)
