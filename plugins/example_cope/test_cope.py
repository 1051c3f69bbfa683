import numpy as np
import posexp_cope
import pytest
import torch

import posexp
from posexp import AttentionDims, build_scheme
from posexp.testing import parametrize_checks


@parametrize_checks("cope")
def test_conformance(check):
    check()


def cope(spread=1.0, positions=None, n_heads=2, d_head=4, n_layers=1):
    dims = AttentionDims(d_head * n_heads, n_heads, n_layers=n_layers, context_length=6)
    scheme = build_scheme({"name": "cope", "positions": positions}, dims)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in scheme.parameters():
            parameter.normal_(0.0, spread, generator=generator)
    return scheme


def heads(n_heads, length, d_head):
    generator = torch.Generator().manual_seed(0)
    return torch.randn(3, 1, n_heads, length, d_head, generator=generator)


def reference(q, k, v, table):
    """One head (T, d) in float64, by the letter of the definition."""
    length, d = q.shape
    out = np.zeros_like(q)
    for i in range(length):
        logits = []
        for j in range(i + 1):
            gates = [1 / (1 + np.exp(-(q[i] @ k[t]) / np.sqrt(d))) for t in range(j, i + 1)]
            p = min(sum(gates), len(table) - 1)
            low, high = int(np.floor(p)), int(np.ceil(p))
            between = (1 - (p - low)) * (q[i] @ table[low]) + (p - low) * (q[i] @ table[high])
            logits.append((q[i] @ k[j] + between) / np.sqrt(d))
        weights = np.exp(logits - np.max(logits))
        out[i] = weights / weights.sum() @ v[: i + 1]
    return out


@pytest.mark.parametrize("positions", [None, 3])
def test_against_numpy(positions):
    """Seven positions for six tokens; and three, which most counts exceed."""
    scheme = cope(positions=positions)
    table = scheme.layers[0].table.detach().double().numpy()
    assert len(table) == (positions or 7)
    q, k, v = heads(2, 6, 4)
    found = posexp.attend(q, k, v, scheme=scheme)
    for h in range(2):
        expected = reference(*(x[0, h].double().numpy() for x in (q, k, v)), table)
        np.testing.assert_allclose(found[0, h].detach().numpy(), expected, atol=1e-5)


def test_open_gates_count_tokens():
    """Where every gate is open, row p of the table is that of the p-th token back, itself first."""
    layer = cope(n_heads=1).layers[0]
    scores = torch.full((1, 1, 3, 3), 100.0).masked_fill(
        torch.ones(3, 3).triu(1).bool(), -torch.inf
    )
    q = torch.ones(1, 1, 3, 4)
    added = layer.adjust_scores(scores, q, q, torch.arange(3), torch.arange(3)) - scores
    by_count = layer.table.sum(-1)
    expected = by_count[torch.tensor([3, 2, 1])]
    torch.testing.assert_close(added[0, 0, 2], expected, atol=1e-4, rtol=0)


def test_starts_from_nope_with_a_gradient():
    scheme = cope()
    with torch.no_grad():
        for layer in scheme.layers:
            layer.init_parameter("table", layer.table, torch.Generator())
    q, k, v = heads(2, 6, 4)
    found = posexp.attend(q, k, v, scheme=scheme)
    torch.testing.assert_close(found, posexp.attend(q, k, v, scheme="nope"))
    found.square().sum().backward()
    gradient = scheme.layers[0].table.grad
    assert gradient.isfinite().all() and gradient.abs().sum() > 0


def test_gradients_are_finite_behind_padding():
    """A row of which nothing is visible: every score is -inf."""
    scheme = cope()
    q, k, v = (x.clone().requires_grad_() for x in heads(2, 6, 4))
    real = torch.tensor([[False, False, True, True, True, True]])
    posexp.attend(q, k, v, scheme=scheme, real_keys=real).sum().backward()
    for tensor in (q, k, v, scheme.layers[0].table):
        assert tensor.grad.isfinite().all()


def test_each_layer_has_its_table():
    scheme = cope(n_layers=3)
    assert len({id(scheme.for_layer(i).table) for i in range(3)}) == 3


def test_refusals():
    with pytest.raises(ValueError, match="positions must be at least 2, got 1"):
        posexp_cope.CopeConfig(positions=1)
    with pytest.raises(ValueError, match="needs causal attention"):
        build_scheme({"name": "cope"}, AttentionDims(8, 2, causal=False))
