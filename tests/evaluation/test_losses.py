import numpy as np
import pytest
import torch

from posexp.evaluation.losses import LossRunner, bits_per_byte, out_of_memory


def windows(n):
    inputs = np.arange(n, n + 8, dtype=np.int64)
    return inputs, inputs[-3:] + 1


class Small:
    """Runs out of memory above `rows` windows, in one of the ways that torch says it."""

    def __init__(self, model, rows, error):
        self.model, self.rows, self.error, self.sizes = model, rows, error, []

    def __call__(self, tokens):
        self.sizes.append(len(tokens))
        if len(tokens) > self.rows:
            raise self.error
        return self.model(tokens)


OUT = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory"),
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:124] . DefaultCPUAllocator: can't allocate memory"
    ),
]


def test_a_forward_pass_holds_batch_tokens(model):
    LossRunner(model, "none", 24).losses(windows, 7, 8)
    assert model.shapes == [(3, 8), (3, 8), (1, 8)]


def test_the_batch_size_does_not_matter(model):
    results = [LossRunner(model, "none", n).losses(windows, 7, 8) for n in (1, 8, 24, 1000)]
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], atol=1e-6)


@pytest.mark.parametrize("error", OUT, ids=lambda error: type(error).__name__)
def test_a_batch_that_does_not_fit_is_halved(bigram, error):
    small = Small(bigram, 2, error)
    found = LossRunner(small, "none", 64).losses(windows, 7, 8)
    assert small.sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(found, LossRunner(bigram, "none", 8).losses(windows, 7, 8))


@pytest.mark.parametrize("error", [*OUT, RuntimeError("some other fault")])
def test_one_window_that_does_not_fit_and_other_errors_are_raised(bigram, error):
    with pytest.raises(type(error)):
        LossRunner(Small(bigram, 0, error), "none", 8).losses(windows, 7, 8)


def test_the_error_that_this_torch_raises_is_known():
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**60)
    assert out_of_memory(raised.value)
    assert not out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_losses_of_half_precision_logits_are_float32():
    def half(tokens):
        return torch.zeros(*tokens.shape, 257, dtype=torch.bfloat16)

    found = LossRunner(half, "none", 64).losses(windows, 2, 8)
    np.testing.assert_allclose(found, np.log(257), atol=1e-6)


def test_bits_per_byte_of_a_uniform_model_of_bytes_is_eight():
    assert bits_per_byte(np.full((5, 4), np.log(256)), 20) == pytest.approx(8)
    assert bits_per_byte(np.full((5, 4), np.log(256)), 80) == pytest.approx(2)  # 4 bytes a token
