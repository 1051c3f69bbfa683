import pytest
import torch

from posexp.bench.candidates import candidates
from posexp.bench.decode import TOKENS, decoding, next_token
from posexp.bench.models import kernels_used, plain_row, with_scheme


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_every_call_adds_its_tokens_to_the_cache(tiny, precision):
    (found,) = candidates(tiny(schemes=("rope",)))
    model = with_scheme(found.config, 100, "cpu")
    seen = []
    model.register_forward_hook(
        lambda module, args, kwargs, out: seen.append((out.shape[1], kwargs["cache"].length)),
        with_kwargs=True,
    )
    call = decoding(model, 10, precision)
    call()
    call()
    assert seen == [(10, 10), *((1, 10 + n) for n in range(1, 2 * TOKENS + 1))]
    assert not any(p.requires_grad and p.grad is not None for p in model.parameters())


def test_the_kernel_is_that_of_a_cached_pass(tiny):
    """The key-side form needs as many queries as keys, or says otherwise through `accepts`."""
    (found,) = candidates(tiny(schemes=("alibi",)))
    model = with_scheme(found.config, 64, "cpu")
    layout = next_token(model, 10)
    assert layout.distance().tolist() == [[10 - j for j in range(11)]]
    legal = model.legal_kernels[0]
    accepted = next(kernel.name for kernel in legal if kernel.accepts(layout))
    assert kernels_used(model, layout) == accepted
    assert kernels_used(model, plain_row(model, 10)) == "key_side"
    assert torch.equal(layout.q_positions, torch.tensor([10]))
