"""The band and what lies beyond it against dense attention in float64."""

import itertools

import pytest
import torch

from posexp.model.kernels.banded import banded
from posexp.model.kernels.blocks import collect, spread

H, D = 3, 8
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}


def dense(q, k, v, width, keys, values, bias):
    length = q.shape[2]
    n = torch.arange(length)[:, None] - torch.arange(length)

    def by_pair(terms):  # (H or 1, K, ...) -> (H, L, L, ...), 0 from K on
        terms = torch.cat((terms, torch.zeros_like(terms[:, :1])), 1)
        return terms.expand(H, *terms.shape[1:])[:, n.clamp(0, width)]

    scores = q @ k.mT
    if keys is not None:
        scores = scores + torch.einsum("bhid,hijd->bhij", q, by_pair(keys))
    if bias is not None:
        scores = scores + by_pair(bias)
    weights = scores.masked_fill(n < 0, -torch.inf).softmax(-1)
    out = weights @ v
    return (
        out if values is None else out + torch.einsum("bhij,hijd->bhid", weights, by_pair(values))
    )


def inputs(length, width, shared, which, dtype):
    generator = torch.Generator().manual_seed(length + width)

    def draw(*shape):
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
        return drawn.to(dtype).requires_grad_()

    qkv = [draw(2, H, length, D) for _ in range(3)]
    vectors = 1 if shared else H
    keys = draw(vectors, width, D) if "keys" in which else None
    values = draw(vectors, width, D) if "values" in which else None
    bias = draw(H, width) if "bias" in which else None
    return [*qkv, keys, values, bias], draw(2, H, length, D).detach()


WHICH = ["keys", "values", "bias", "keys values bias", ""]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("length", [1, 7, 32, 100, 257])
def test_values_and_gradients(length, which, dtype):
    for width, shared in itertools.product((1, 5, 40, 113), (True, False)):
        given, grad = inputs(length, width, shared, which, dtype)
        out, _ = banded(*given[:3], width, *given[3:])
        present = [x for x in given if x is not None]
        found = [out, *torch.autograd.grad(out, present, grad)]

        double = [None if x is None else x.detach().double().requires_grad_() for x in given]
        expected = dense(*double[:3], width, *double[3:])
        present = [x for x in double if x is not None]
        wanted = [expected, *torch.autograd.grad(expected, present, grad.double())]
        for got, want in zip(found, wanted, strict=True):
            bound = TOLERANCE[dtype] * max(1.0, want.abs().max().item())
            torch.testing.assert_close(got.double(), want, atol=bound, rtol=0)


def test_gradcheck():
    given, _ = inputs(6, 3, False, "keys values bias", torch.float64)
    assert torch.autograd.gradcheck(
        lambda q, k, v, *terms: banded(q, k, v, 3, *terms)[0], given, fast_mode=True
    )


def test_the_operator_keeps_the_rules_of_torch():
    given, _ = inputs(40, 3, True, "keys bias", torch.float32)
    torch.library.opcheck(banded, (*given[:3], 3, *given[3:]))


def test_terms_by_distance_become_terms_by_key_and_back():
    terms = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])[None, None]  # C = 3, K = 2
    by_key = spread(terms, 0.0)
    # Key j of the window is at distance i + 1 - j of query i.
    assert by_key[0, 0].tolist() == [[2, 1, 0, 0], [0, 4, 3, 0], [0, 0, 6, 5]]
    assert collect(by_key, 2)[0, 0].tolist() == terms[0, 0].tolist()
