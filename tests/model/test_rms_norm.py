"""RMSNorm against its formula in numpy, PyTorch's own, and its gradient numerically."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from posexp.model.rms_norm import RMSNorm, rms_norm


def drawn(*shape, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_()


def test_the_formula():
    x, weight = drawn(2, 3, 8), drawn(8)
    rows = x.detach().numpy()
    expected = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-3) * weight.detach().numpy()
    np.testing.assert_allclose(rms_norm(x, weight, 1e-3).detach(), expected, rtol=1e-12)


@pytest.mark.parametrize("affine", [True, False])
def test_gradcheck(affine):
    weight = drawn(5) if affine else None
    assert torch.autograd.gradcheck(
        lambda x, weight: rms_norm(x, weight, 1e-2), (drawn(2, 3, 5), weight)
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_as_pytorch_has_it(dtype):
    """In bfloat16 only the result is rounded: a size rounded to 8 bits would be wrong for a row."""
    x, weight, grad = drawn(4, 7, 64, dtype=dtype), drawn(64, dtype=torch.float32), drawn(4, 7, 64)
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 2**-8}[dtype]

    def found(norm, x):
        out = norm(x, (64,), weight, 1e-6)
        return [out, *torch.autograd.grad(out, (x, weight), grad.to(dtype))]

    ours = found(lambda x, shape, weight, eps: rms_norm(x, weight, eps), x)
    theirs = found(lambda x, *given: F.rms_norm(x.float(), *given).to(dtype), x)
    for got, want in zip(ours, theirs, strict=True):
        assert got.dtype == want.dtype
        torch.testing.assert_close(got, want, atol=1e-5, rtol=tolerance)


def test_a_row_of_zeros_has_a_gradient():
    norm = RMSNorm(4, eps=1e-6)
    x = torch.zeros(2, 4, requires_grad=True)
    out = norm(x)
    out.sum().backward()
    assert (out == 0).all()
    torch.testing.assert_close(x.grad, torch.full((2, 4), 1000.0))


def test_no_second_gradient_in_silence():
    x = drawn(2, 4)
    (grad,) = torch.autograd.grad(rms_norm(x, None, 1e-6).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()


def test_compiles_as_one_graph():
    norm = RMSNorm(8, eps=1e-6)
    x = drawn(2, 8, dtype=torch.float32)
    compiled = torch.compile(norm, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), norm(x))
