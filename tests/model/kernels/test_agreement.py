"""Every registered scheme through every kernel, length, layout and precision, against eager.

A scheme is covered the moment it is registered. Each kernel is compared in its output and in the
gradients of queries, keys, values and the scheme's own parameters.
"""

import dataclasses

import pytest
import torch

from posexp import AttentionDims, with_span
from posexp.model import Layout
from posexp.model.attention import attend
from posexp.model.kernels import KERNELS, tiled, toeplitz
from posexp.registry import registry
from posexp.testing import Subject

DIMS = AttentionDims(d_model=32, n_heads=4, n_layers=4, context_length=264, n_kv_heads=2)
LENGTHS = (1, 7, 64, 257)
LAYOUTS = ("causal", "bidirectional", "window", "left padding", "packed")
#: Of the largest entry; bfloat16 has 8 bits, and eager computes from the same inputs in float32.
TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 2e-2}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Several tiles in each direction at 257."""
    monkeypatch.setattr(tiled, "AREA", 64 * 64)
    monkeypatch.setattr(toeplitz, "TILE_KEYS", 96)


def layout_of(kind, length):
    tokens, causal = torch.zeros(2, length), kind != "bidirectional"
    if kind == "left padding":
        real = torch.ones(2, length, dtype=torch.bool)
        real[1, : length // 3] = False
        return Layout.of_tokens(tokens, real=real)
    if kind == "packed":
        cut = length // 2
        documents = torch.tensor([0] * cut + [1] * (length - cut)).repeat(2, 1)
        positions = torch.cat((torch.arange(cut), torch.arange(length - cut))).repeat(2, 1)
        return Layout.of_tokens(tokens, documents=documents, positions=positions)
    return Layout.of_tokens(tokens, causal=causal)


def layers_of(name, kind):
    """The different layer schemes of `name`, or none where it cannot be had like this."""
    dims = dataclasses.replace(DIMS, causal=kind != "bidirectional")
    scheme = Subject.of(name, dims).scheme()
    if kind == "window":
        try:
            scheme = with_span(scheme, 5)
        except ValueError:  # it has windows of its own
            return []
    layers = [scheme.for_layer(i) for i in range(DIMS.n_layers)]
    return list({id(layer): layer for layer in layers}.values())


def inputs(length, dtype):
    generator = torch.Generator().manual_seed(length)
    heads = (4, 2, 2)
    made = (torch.randn(2, h, length, DIMS.d_head, generator=generator) for h in heads)
    grad = torch.randn(2, 4, length, DIMS.d_head, generator=generator)
    return [x.to(dtype).requires_grad_() for x in made], grad.to(dtype)


def outcome(kernel, scheme, layout, given, grad):
    """The output, and the gradients of everything that has one."""
    out = attend(*given, scheme, layout, kernel, kernel.prepare(scheme, layout))
    learned = [p for p in scheme.parameters() if p.requires_grad]
    grads = torch.autograd.grad(out, [*given, *learned], grad, allow_unused=True)
    return [out, *(torch.zeros(()) if g is None else g for g in grads)]


@pytest.mark.parametrize("kind", LAYOUTS)
@pytest.mark.parametrize("name", registry().names)
def test_every_kernel_computes_the_definition(name, kind):
    try:
        layers = layers_of(name, kind)
    except ValueError as refusal:
        assert kind == "bidirectional", refusal
        pytest.skip(f"causal only: {refusal}")
    if not layers:
        pytest.skip("it has windows of its own")
    compared = 0
    for scheme in layers:
        for length in LENGTHS:
            if scheme.max_length is not None and length > scheme.max_length:
                continue
            layout = layout_of(kind, length)
            for dtype, tolerance in TOLERANCE.items():
                given, grad = inputs(length, dtype)
                expected = outcome(KERNELS["eager"], scheme, layout, given, grad)
                for kernel in KERNELS.values():
                    legal = kernel.refusal(scheme, layout.causal, 0.0) is None
                    if kernel.name == "eager" or not legal or not kernel.accepts(layout):
                        continue
                    found = outcome(kernel, scheme, layout, given, grad)
                    for got, wanted in zip(found, expected, strict=True):
                        bound = tolerance * max(1.0, wanted.abs().max().item())
                        error = (got.float() - wanted.float()).abs().max().item()
                        assert error <= bound, (kernel.name, length, dtype, error, bound)
                    compared += 1
    assert compared >= len(layers) * len(TOLERANCE)
