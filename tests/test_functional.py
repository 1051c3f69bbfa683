"""`posexp.attend` against dense attention in numpy, float64, one head and one row at a time."""

import math

import numpy as np
import pytest
import torch

import posexp
from posexp import AttentionDims, Compose, PositionScheme, build_scheme
from posexp.model.kernels import IllegalKernelError

SLOPES = {4: [2**-2, 2**-4, 2**-6, 2**-8]}


def heads(n_queries=7, n_keys=7, n_kv_heads=2, batch=2):
    generator = torch.Generator().manual_seed(0)
    shapes = ((4, n_queries), (n_kv_heads, n_keys), (n_kv_heads, n_keys))
    return [torch.randn(batch, h, n, 8, generator=generator) for h, n in shapes]


def rotated(x, position):
    pairs = x.reshape(-1, 2)
    angles = position * 10000.0 ** (-2 * np.arange(4) / 8)
    a, b = pairs.T
    turned = (a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles))
    return np.stack(turned, axis=1).reshape(-1)


def dense(q, k, v, name, q_positions, k_positions, real=None, causal=True):
    """(B, H, T, d) from positions (B, T) and (B, S)."""
    q, k, v = (x.double().numpy() for x in (q, k, v))
    batch, n_heads, n_queries, width = q.shape
    n_keys, groups = k.shape[2], n_heads // k.shape[1]
    out = np.zeros_like(q)
    for b, h, t in np.ndindex(batch, n_heads, n_queries):
        logits = np.full(n_keys, -np.inf)
        for s in range(n_keys):
            if (causal and s > n_keys - n_queries + t) or (real is not None and not real[b, s]):
                continue
            i, j = q_positions[b][t], k_positions[b][s]
            query, key = q[b, h, t], k[b, h // groups, s]
            if name == "rope":
                query, key = rotated(query, i), rotated(key, j)
            logits[s] = query @ key / math.sqrt(width)
            if name == "alibi":
                logits[s] -= SLOPES[n_heads][h] * abs(i - j)
        if np.isfinite(logits).any():
            weights = np.exp(logits - logits.max())
            out[b, h, t] = weights / weights.sum() @ v[b, h // groups]
    return out


def close(found, expected):
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-5)


ROWS = [np.arange(7)] * 2


@pytest.mark.parametrize("name", ["nope", "alibi", "rope"])
@pytest.mark.parametrize("causal", [True, False])
def test_equals_numpy(name, causal):
    q, k, v = heads()
    found = posexp.attend(q, k, v, scheme=name, causal=causal)
    close(found, dense(q, k, v, name, ROWS, ROWS, causal=causal))


@pytest.mark.parametrize("name", ["nope", "alibi", "rope"])
def test_the_last_queries_alone(name):
    q, k, v = heads(n_queries=3)
    found = posexp.attend(q, k, v, scheme=name)
    close(found, dense(q, k, v, name, [np.arange(4, 7)] * 2, ROWS))


@pytest.mark.parametrize("name", ["alibi", "rope"])
def test_padding_on_the_left(name):
    q, k, v = heads()
    real = torch.ones(2, 7, dtype=torch.bool)
    real[0, :3] = False
    positions = [np.array([0, 0, 0, 0, 1, 2, 3]), np.arange(7)]
    found = posexp.attend(q, k, v, scheme=name, real_keys=real)
    close(found, dense(q, k, v, name, positions, positions, real=real.numpy()))


@pytest.mark.parametrize("name", ["alibi", "rope"])
def test_given_positions(name):
    q, k, v = heads(n_queries=3)
    positions, k_positions = torch.tensor([9, 10, 30]), torch.tensor([0, 2, 4, 6, 9, 10, 30])
    found = posexp.attend(
        q, k, v, scheme={"name": name}, positions=positions, k_positions=k_positions
    )
    rows = [positions.numpy()] * 2, [k_positions.numpy()] * 2
    close(found, dense(q, k, v, name, *rows))


def test_positions_keep_float32_under_autocast():
    """A bias of -500 and one of -501 are one number in bfloat16."""
    q, k, v = heads(2, 2000, n_kv_heads=4)
    with torch.autocast("cpu", torch.bfloat16):
        found = posexp.attend(q, k, v, scheme="alibi")
    close(found, dense(q, k, v, "alibi", [np.arange(1998, 2000)] * 2, [np.arange(2000)] * 2))


def test_a_module_trains_with_its_owner():
    scheme = build_scheme({"name": "t5"}, AttentionDims(32, 4, n_kv_heads=2))
    q, k, v = (x.requires_grad_() for x in heads())
    posexp.attend(q, k, v, scheme=scheme).square().sum().backward()
    assert scheme.table.grad.any() and all(x.grad.any() for x in (q, k, v))


def test_the_scheme_of_a_layer():
    dims = AttentionDims(32, 4, n_layers=4, n_kv_heads=2)
    scheme = build_scheme({"name": "hybrid", "local_window": 3}, dims)
    q, k, v = heads()
    close(posexp.attend(q, k, v, scheme=scheme, layer=3), dense(q, k, v, "nope", ROWS, ROWS))
    local = posexp.attend(q, k, v, scheme=scheme, layer=0)
    close(local[:, :, :3], dense(q, k, v, "rope", ROWS, ROWS)[:, :, :3])
    assert not torch.allclose(local, posexp.attend(q, k, v, scheme="rope"), atol=1e-3)


class Doubled(PositionScheme):
    def remap_positions(self, positions):
        return 2 * positions


class AlsoAtTheInput(PositionScheme):
    def embed(self, x, positions):
        return x + positions[:, None]


def test_what_happens_before_the_first_layer_must_have_happened():
    q, k, v = heads()
    dims = AttentionDims(32, 4, n_kv_heads=2)
    alibi = build_scheme({"name": "alibi"}, dims)
    at_input = Compose(AlsoAtTheInput(None, dims), alibi)
    with pytest.raises(ValueError, match="scheme.embed"):
        posexp.attend(q, k, v, scheme=at_input)
    found = posexp.attend(q, k, v, scheme=at_input, embedded=True)
    close(found, dense(q, k, v, "alibi", ROWS, ROWS))
    remapped = Compose(Doubled(None, dims), alibi)
    with pytest.raises(ValueError, match="remap_positions"):
        posexp.attend(q, k, v, scheme=remapped)
    positions = remapped.remap_positions(torch.arange(7))
    found = posexp.attend(q, k, v, scheme=remapped, positions=positions)
    close(found, dense(q, k, v, "alibi", [2 * ROWS[0]] * 2, [2 * ROWS[0]] * 2))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scheme": "t5"}, "parameters of its own.*build_scheme"),
        ({"scheme": "sinusoidal"}, "embedded=True"),
        ({"scheme": build_scheme({"name": "alibi"}, AttentionDims(64, 8))}, "8 heads.*4 heads"),
        ({"causal": False, "scheme": Compose(build_scheme({"name": "rope"}, AttentionDims(32, 4)))},
         "bidirectional"),
        ({"k": torch.zeros(2, 3, 7, 8)}, "H a multiple of G"),
        ({"q": torch.zeros(2, 4, 9, 8)}, "T <= S"),
        ({"real_keys": torch.ones(2, 6, dtype=torch.bool)}, "real_keys"),
        ({"positions": torch.arange(6)}, "one for each of 7"),
        ({"q": torch.zeros(2, 4, 3, 8), "positions": torch.arange(3)}, "k_positions are missing"),
        ({"kernel": "sdpq"}, "did you mean 'sdpa'"),
    ],
)  # fmt: skip
def test_mistakes(change, said):
    q, k, v = heads()
    given = {"q": q, "k": k, "v": v, "scheme": "alibi"} | change
    if "k" in change:
        given["v"] = change["k"]
    with pytest.raises(ValueError, match=said):
        posexp.attend(given.pop("q"), given.pop("k"), given.pop("v"), **given)


def test_more_positions_than_defined():
    class Four(PositionScheme):
        max_length = 4

    q, k, v = heads()
    with pytest.raises(ValueError, match="7 positions, and Four defines 4"):
        posexp.attend(q, k, v, scheme=Four())


def test_an_illegal_kernel():
    q, k, v = heads()
    with pytest.raises(IllegalKernelError, match="sdpa"):
        posexp.attend(q, k, v, scheme="alibi", kernel="sdpa")
