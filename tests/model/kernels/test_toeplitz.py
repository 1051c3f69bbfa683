"""The fused bias by distance against dense attention in float64, and its gradient numerically."""

import pytest
import torch

from posexp.model.kernels import toeplitz as module
from posexp.model.kernels.toeplitz import diagonal_sums, toeplitz

H, D = 3, 8
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5, torch.bfloat16: 2e-2}


def dense(q, k, v, table):
    length = q.shape[2]
    n = torch.arange(length)[:, None] - torch.arange(length)
    return (q @ k.mT + table[:, n + length - 1]).softmax(-1) @ v


def inputs(length, low, high, dtype):
    generator = torch.Generator().manual_seed(length)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    exact = torch.promote_types(dtype, torch.float32)
    q, k, v = (draw(2, H, length, D).to(dtype).requires_grad_() for _ in range(3))
    bias = draw(H, 2 * length - 1).to(exact).requires_grad_()
    return (q, k, v, bias), draw(2, H, length, D).to(dtype)


def visible(bias, low, high):
    n = torch.arange(bias.shape[1]) - bias.shape[1] // 2
    return bias.masked_fill((n < low) | (n > high), -torch.inf)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("reach", [10**6, 20])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", [1, 7, 64, 257, 600])
def test_values_and_gradients(length, causal, reach, dtype):
    high = min(reach, length - 1)
    low = 0 if causal else -high
    given, grad = inputs(length, low, high, dtype)
    out, _ = toeplitz(*given[:3], visible(given[3], low, high), low, high)
    found = [out, *torch.autograd.grad(out, given, grad)]

    double = [x.detach().double().requires_grad_() for x in given]
    expected = dense(*double[:3], visible(double[3], low, high))
    wanted = [expected, *torch.autograd.grad(expected, double, grad.double())]
    for got, want in zip(found, wanted, strict=True):
        bound = TOLERANCE[dtype] * max(1.0, want.abs().max().item())
        torch.testing.assert_close(got.double(), want, atol=bound, rtol=0)


def test_gradcheck(monkeypatch):
    monkeypatch.setattr(module, "TILE_QUERIES", 3)
    monkeypatch.setattr(module, "TILE_KEYS", 2)
    (q, k, v, bias), _ = inputs(5, 0, 4, torch.float64)

    def function(q, k, v, bias):
        return toeplitz(q, k, v, visible(bias, 0, 4), 0, 4)[0]

    assert torch.autograd.gradcheck(function, (q, k, v, bias), fast_mode=True)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("saturation", [1, 5, 63])
def test_a_far_side_of_one_bias(monkeypatch, saturation, dtype):
    monkeypatch.setattr(module, "LONG", 0)
    monkeypatch.setattr(module, "TILE_QUERIES", 16)
    length = 64
    (q, k, v, bias), grad = inputs(length, 0, length - 1, dtype)
    start = length - 1 + saturation
    with torch.no_grad():
        bias[:, start:] = bias[:, start : start + 1]
    given = (q, k, v, bias)
    out, _ = toeplitz(q, k, v, visible(bias, 0, length - 1), 0, length - 1, saturation)
    found = [out, *torch.autograd.grad(out, given, grad)]

    double = [x.detach().double().requires_grad_() for x in given]
    expected = dense(*double[:3], visible(double[3], 0, length - 1))
    wanted = [expected, *torch.autograd.grad(expected, double, grad.double())]
    # One bias has one gradient.
    wanted[4] = torch.cat((wanted[4][:, :start], wanted[4][:, start:].sum(1, keepdim=True)), 1)
    found[4] = found[4][:, : wanted[4].shape[1]]
    for got, want in zip(found, wanted, strict=True):
        bound = TOLERANCE[dtype] * max(1.0, want.abs().max().item())
        torch.testing.assert_close(got.double(), want, atol=bound, rtol=0)


def test_the_operator_keeps_the_rules_of_torch():
    (q, k, v, bias), _ = inputs(6, 0, 5, torch.float32)
    table = visible(bias, 0, 5).detach().requires_grad_()
    torch.library.opcheck(toeplitz, (q, k, v, table, 0, 5))


def test_diagonal_sums():
    tile = torch.arange(6.0).view(1, 2, 3)  # [[0, 1, 2], [3, 4, 5]]
    assert diagonal_sums(tile).tolist() == [[0.0, 1 + 3.0, 2 + 4.0, 5.0]]
