"""What holds for every bundled scheme, seen through a dense attention of this file's own."""

import math

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from posexp import AttentionDims, build_scheme
from posexp.registry import registry

NAMES = registry().names
#: Few enough tokens to be beyond what it was trained on.
EXAMPLES = {
    "dynamic_ntk": {"name": "dynamic_ntk", "trained_length": 4},
    "scaled_nope": {"name": "scaled_nope", "interval": 4},
}
CONFIGS = [EXAMPLES.get(name, {"name": name}) for name in NAMES if name != "hybrid"]
CONFIGS += [
    {"name": "rope", "layout": "half", "fraction": 0.5},
    {"name": "sinusoidal", "layout": "halves", "exponent": "tensor2tensor"},
]
#: What they do at a query is the same for all of its keys.
BLIND = {"nope", "scaled_nope"}
IDS = ["-".join(str(value) for value in config.values()) for config in CONFIGS]


@pytest.fixture(autouse=True)
def same_inputs():
    """Inputs do not depend on which tests ran before in this process."""
    torch.manual_seed(0)


every_scheme = pytest.mark.parametrize("config", CONFIGS, ids=IDS)
DIMS = AttentionDims(32, 4, context_length=24)


def drawn(config, dims=DIMS):
    """The scheme with parameters large enough to matter."""
    scheme = build_scheme(config, dims)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in scheme.parameters():
            parameter.normal_(generator=generator)
    return scheme


def attend(scheme, x, positions):
    """Causal attention with q = k = v = x, (B, T, D) -> (B, T, D), straight from the contract."""
    x = scheme.embed(x, scheme.remap_positions(positions))
    heads = x.unflatten(-1, (4, -1)).transpose(1, 2)
    width, length = heads.shape[-1], heads.shape[-2]
    q = scheme.transform_query(heads, positions) * (scheme.logit_scale or 1 / math.sqrt(width))
    scores = q @ scheme.transform_key(heads, positions).mT
    n = positions[:, None] - positions[None, :]
    keys, values = scheme.distance_keys(n.flatten()), scheme.distance_values(n.flatten())
    if keys is not None:
        scores = scores + torch.einsum("bhtd,gtsd->bhts", q, keys.unflatten(1, n.shape))
    bias = scheme.bias(positions, positions)
    scores = scores if bias is None else scores + bias
    future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
    weights = scores.masked_fill(future, -math.inf).softmax(-1).to(heads.dtype)
    out = weights @ heads
    if values is not None:
        out = out + torch.einsum("bhts,gtsd->bhtd", weights, values.unflatten(1, n.shape))
    return out.transpose(1, 2).flatten(-2)


def test_all_are_here():
    assert {c["name"] for c in CONFIGS} | {"hybrid"} == set(NAMES)


@every_scheme
def test_shift_invariance_is_declared_truthfully(config):
    scheme, x = drawn(config), torch.randn(2, 8, 32)
    here = attend(scheme, x, torch.arange(8))
    shifted = attend(scheme, x, torch.arange(5, 13))
    assert torch.allclose(here, shifted, atol=1e-5) == scheme.shift_invariant


@every_scheme
def test_dependence_on_length_is_declared_truthfully(config):
    scheme, x = drawn(config), torch.randn(2, 12, 32)
    whole = attend(scheme, x, torch.arange(12))
    part = attend(scheme, x[:, :8], torch.arange(8))
    assert torch.allclose(whole[:, :8], part, atol=1e-5) != scheme.length_dependent


@every_scheme
def test_order_is_seen(config):
    """Swapping two past tokens changes the last row, but for those without it in one layer."""
    scheme, x = drawn(config), torch.randn(1, 8, 32)
    swapped = x[:, [0, 4, 2, 3, 1, 5, 6, 7]]
    before, after = (attend(scheme, tokens, torch.arange(8))[:, -1] for tokens in (x, swapped))
    assert torch.allclose(before, after, atol=1e-5) == (config["name"] in BLIND)


@every_scheme
def test_half_and_back_is_harmless(config):
    """P02: nothing but parameters can lose precision, and they come from the state dict."""
    scheme, x = drawn(config), torch.randn(1, 8, 32)
    assert list(scheme.buffers()) == []
    state = {name: value.half().float() for name, value in scheme.state_dict().items()}
    damaged = scheme.half().float()
    fresh = build_scheme(config, DIMS)
    fresh.load_state_dict(state)
    positions = torch.arange(8)
    assert torch.equal(attend(damaged, x, positions), attend(fresh, x, positions))


@every_scheme
def test_built_on_meta_then_loaded(config):
    """P03."""
    scheme, x = drawn(config), torch.randn(1, 8, 32)
    with torch.device("meta"):
        empty = build_scheme(config, DIMS)
    empty.to_empty(device="cpu")
    empty.load_state_dict(scheme.state_dict())
    positions = torch.arange(8)
    assert torch.equal(attend(empty, x, positions), attend(scheme, x, positions))


@every_scheme
def test_no_tensor_is_made_on_the_default_device(config):
    """P22."""
    scheme, x, positions = drawn(config), torch.randn(1, 8, 32), torch.arange(8)
    expected = attend(scheme, x, positions)
    with torch.device("meta"):
        assert torch.equal(attend(scheme, x, positions), expected)


@every_scheme
def test_the_default_dtype_changes_nothing(config):
    scheme, x, positions = drawn(config), torch.randn(1, 8, 32), torch.arange(8)
    expected = attend(scheme, x, positions)
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert torch.equal(attend(scheme, x, positions), expected)
    finally:
        torch.set_default_dtype(torch.float32)


@every_scheme
def test_autocast_changes_no_angle_and_no_bias(config):
    scheme, x, positions = drawn(config), torch.randn(1, 8, 32), torch.arange(8)
    q = x.unflatten(-1, (4, -1)).transpose(1, 2)
    forms = (
        lambda: scheme.embed(x, positions),
        lambda: scheme.transform_key(q, positions),
        lambda: scheme.distance_bias(positions),
    )
    for form in forms:
        expected = form()
        with torch.autocast("cpu", torch.bfloat16):
            found = form()
        assert (found is None and expected is None) or torch.equal(found, expected)


@every_scheme
def test_every_parameter_gets_a_gradient(config):
    """P32."""
    scheme = drawn(config)
    x = torch.randn(1, 8, 32, requires_grad=True)
    attend(scheme, x, torch.arange(8)).square().sum().backward()
    for name, parameter in scheme.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    if config["name"] in ("rope", "nope", "alibi", "sinusoidal"):
        assert list(scheme.parameters()) == []


@pytest.mark.parametrize("name", ["rope", "t5", "learned"])
def test_compiles_without_a_new_graph_for_every_length(name):
    """P24; that every scheme compiles is a check of `posexp.testing`."""
    torch.compiler.reset()
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(attend, backend=counter, fullgraph=True)
    scheme = drawn({"name": name})
    for length in range(8, 17):
        x, positions = torch.randn(1, length, 32), torch.arange(length)
        expected = attend(scheme, x, positions)
        torch.testing.assert_close(compiled(scheme, x, positions), expected, atol=1e-5, rtol=0)
    assert counter.frame_count <= 3


@every_scheme
def test_earlier_calls_leave_no_trace(config):
    """P07."""
    used, x = drawn(config), torch.randn(1, 24, 32)
    for length in (8, 24, 8):
        positions = torch.arange(length)
        fresh = attend(drawn(config), x[:, :length], positions)
        assert torch.equal(attend(used, x[:, :length], positions), fresh)
