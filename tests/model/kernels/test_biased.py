"""The fused bias by query and key against dense attention in float64, and its gradient."""

import pytest
import torch

from posexp.model.kernels import biased as module
from posexp.model.kernels import recompute
from posexp.model.kernels.biased import biased

H, D = 3, 8
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 2e-2}


def dense(q, k, v, bias):
    scores = q @ k.mT + bias
    unseen = (bias == -torch.inf).all(-1, keepdim=True)
    return scores.masked_fill(unseen, 0.0).softmax(-1).masked_fill(unseen, 0.0) @ v


def inputs(n_queries, n_keys, dtype, batch=2):
    generator = torch.Generator().manual_seed(n_queries)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    exact = torch.promote_types(dtype, torch.float32)
    q = draw(batch, H, n_queries, D).to(dtype).requires_grad_()
    k, v = (draw(batch, H, n_keys, D).to(dtype).requires_grad_() for _ in range(2))
    bias = draw(H, n_queries, n_keys).to(exact).requires_grad_()
    return (q, k, v, bias), draw(batch, H, n_queries, D).to(dtype)


def masked(bias, causal, hidden=0):
    """Causal, the last query being at the last key; the first `hidden` queries see nothing."""
    n_queries, n_keys = bias.shape[1:]
    query, key = torch.arange(n_queries)[:, None], torch.arange(n_keys)
    unseen = (key > query + n_keys - n_queries) & causal
    return bias.masked_fill(unseen | (query < hidden), -torch.inf)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (257, 257), (64, 300), (600, 1100)])
def test_values_and_gradients(shape, causal, batch, dtype):
    given, grad = inputs(*shape, dtype, batch)
    hidden = 2 if shape[0] > 2 else 0
    out, _ = biased(*given[:3], masked(given[3], causal, hidden), causal)
    found = [out, *torch.autograd.grad(out, given, grad)]

    double = [x.detach().double().requires_grad_() for x in given]
    expected = dense(*double[:3], masked(double[3], causal, hidden))
    wanted = [expected, *torch.autograd.grad(expected, double, grad.double())]
    for got, want in zip(found, wanted, strict=True):
        bound = TOLERANCE[dtype] * max(1.0, want.abs().max().item())
        torch.testing.assert_close(got.double(), want, atol=bound, rtol=0)


def test_gradcheck(monkeypatch):
    monkeypatch.setattr(module, "TILE_QUERIES", 3)
    monkeypatch.setattr(module, "TILE_KEYS", 2)
    monkeypatch.setattr(recompute, "TILE_SCORES", 3)
    given, _ = inputs(5, 6, torch.float64)

    def function(q, k, v, bias):
        return biased(q, k, v, masked(bias, True), True)[0]

    assert torch.autograd.gradcheck(function, given, fast_mode=True)


def test_compiles_as_one_graph():
    given, grad = inputs(7, 7, torch.float32)

    def loss(q, k, v, bias):
        return (biased(q, k, v, masked(bias, True), True)[0] * grad).sum()

    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for got, want in zip(
        torch.autograd.grad(compiled(*given), given),
        torch.autograd.grad(loss(*given), given),
        strict=True,
    ):
        torch.testing.assert_close(got, want)
