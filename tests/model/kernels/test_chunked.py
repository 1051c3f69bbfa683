"""Chunks of positions: what is visible, by which kernel, and how much of it is ever made."""

import dataclasses

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from posexp import AttentionDims, Chunked, Compose, build_scheme, with_span
from posexp.model import Layout
from posexp.model.attention import attend
from posexp.model.kernels import KERNELS, kernel_for, legal_kernels, tiled
from posexp.registry import registry
from posexp.testing import Subject

DIMS = AttentionDims(d_model=32, n_heads=4, n_kv_heads=2)
LENGTHS = (1, 3, 4, 5, 8, 13)


def rope_in_chunks(chunk=4):
    return with_span(build_scheme({"name": "rope"}, DIMS), chunk=chunk)


def heads(length):
    generator = torch.Generator().manual_seed(length)
    made = (torch.randn(2, h, length, 8, generator=generator) for h in (4, 2, 2))
    return [x.requires_grad_() for x in made]


def plain(length, causal=True):
    return Layout.of_tokens(torch.zeros(2, length), causal=causal)


def outcome(kernel, scheme, layout, given):
    out = attend(*given, scheme, layout, kernel, kernel.prepare(scheme, layout))
    return [out, *torch.autograd.grad(out.square().sum(), given)]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
def test_folded_chunks_equal_the_definition(length, causal):
    layout, scheme, given = plain(length, causal), rope_in_chunks(), heads(length)
    (chosen, *_) = legal_kernels("auto", scheme, causal, 0.0)
    assert chosen.name == "chunked" and chosen.accepts(layout)
    expected = outcome(KERNELS["eager"], scheme, layout, given)
    for found, wanted in zip(outcome(chosen, scheme, layout, given), expected, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


def test_a_query_sees_the_keys_of_its_chunk_up_to_itself():
    positions = torch.arange(7)
    visible = plain(7).visible(Chunked(3).mask(positions, positions))
    expected = [[i // 3 == j // 3 and j <= i for j in range(7)] for i in range(7)]
    assert visible.tolist() == expected


def test_left_padding_as_in_transformers():
    """Chunks are counted from the first real token."""
    from transformers.masking_utils import chunked_causal_mask_function

    padding = torch.tensor([3, 0])
    real = torch.arange(11) >= padding[:, None]
    layout = Layout.of_tokens(torch.zeros(2, 11), real=real)
    visible = layout.visible(Chunked(4).mask(layout.q_positions, layout.k_positions))
    theirs = chunked_causal_mask_function(4, padding)
    for row in range(2):
        for i in range(int(padding[row]), 11):
            for j in range(int(padding[row]), 11):
                at = (torch.tensor(n) for n in (row, 0, i, j))
                assert visible[row, 0, i, j] == theirs(*at)


def laid_out(kind, length):
    tokens = torch.zeros(2, length)
    if kind == "left-padded":
        real = torch.ones(2, length, dtype=torch.bool)
        real[0, :3] = False
        return Layout.of_tokens(tokens, real=real)
    documents = torch.tensor([0] * 5 + [1] * (length - 5)).repeat(2, 1)
    positions = torch.tensor([*range(5), *range(length - 5)]).repeat(2, 1)
    return Layout.of_tokens(tokens, documents=documents, positions=positions)


@pytest.mark.parametrize("kind", ["left-padded", "packed"])
def test_other_rows_fall_to_a_kernel_that_is_exact(monkeypatch, kind):
    """One mask where it is small, tiles where it is not: both give the definition."""
    layout, scheme, given = laid_out(kind, 13), rope_in_chunks(), heads(13)
    legal = legal_kernels("auto", scheme, True, 0.0)
    assert kernel_for(layout, legal).name == "sdpa_mask"
    monkeypatch.setattr(tiled, "AREA", 16)
    expected = outcome(KERNELS["eager"], scheme, layout, given)
    for name in ("sdpa_mask", "tiled"):
        assert name in {kernel.name for kernel in legal}
        found = outcome(KERNELS[name], scheme, layout, given)
        for got, wanted in zip(found, expected, strict=True):
            torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-5)
    assert kernel_for(laid_out(kind, 2049), legal).name == "tiled"


@pytest.mark.parametrize("kind", ["plain", "left-padded", "packed"])
@pytest.mark.parametrize("name", registry().names)
def test_every_scheme_in_chunks_by_every_legal_kernel(name, kind):
    dims = dataclasses.replace(DIMS, n_layers=4)
    given, layout = heads(13), plain(13) if kind == "plain" else laid_out(kind, 13)
    values = {"name": name} | ({"local_window": None} if name == "hybrid" else {})
    whole = with_span(Subject.of(values, dims).scheme(), chunk=4)
    for scheme in {whole.for_layer(0), whole.for_layer(3)}:
        expected = outcome(KERNELS["eager"], scheme, layout, given)
        for kernel in legal_kernels("auto", scheme, True, 0.0):
            if kernel.accepts(layout):
                found = outcome(kernel, scheme, layout, given)
                for got, wanted in zip(found, expected, strict=True):
                    torch.testing.assert_close(got, wanted, atol=1e-4, rtol=1e-4)


class Largest(TorchDispatchMode):
    """The number of entries of the largest tensor that is made."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for made in out if isinstance(out, tuple | list) else (out,):
            if isinstance(made, torch.Tensor):
                self.entries = max(self.entries, made.numel())
        return out


def test_never_dense():
    """No tensor is larger than the queries."""
    given, scheme = heads(1024), rope_in_chunks(128)
    with Largest() as seen:
        outcome(KERNELS["chunked"], scheme, plain(1024), given)
    assert seen.entries <= given[0].numel()


def test_a_bias_by_distance_in_chunks_goes_in_tiles():
    scheme = with_span(build_scheme({"name": "alibi"}, DIMS), chunk=4)
    names = [kernel.name for kernel in legal_kernels("auto", scheme, True, 0.0)]
    assert names == ["tiled", "eager"]


@pytest.mark.parametrize("chunk", [0, -3])
def test_a_chunk_has_a_position(chunk):
    with pytest.raises(ValueError, match=f"at least 1 position, got {chunk}"):
        Chunked(chunk)


def test_chunks_of_two_sizes_are_refused():
    assert Compose(Chunked(4), Chunked(4)).chunk == 4
    with pytest.raises(ValueError, match=r"different chunks: \[3, 4\]"):
        Compose(Chunked(3), Chunked(4))
