"""Every registered scheme keeps the contract.

P01 is positions_in_float32, P02 half_and_back, P03 meta_device_build, P07
earlier_calls_leave_no_trace, P10 training_after_inference, P11 left_padding_changes_nothing, P17
masked_rows_give_zeros, P18 causality and padding_is_invisible, P22 no_device_slips, P23
kernels_agree, P24 compile_agrees, P32 every_parameter_gets_a_gradient.
"""

import dataclasses

import pytest

from posexp import AttentionDims, SchemeSpec, build_scheme, with_span
from posexp.registry import registry
from posexp.testing import check_scheme, parametrize_checks
from posexp.testing.subject import DIMS

#: What a scheme is examined with, where its defaults would hide something: a window of 32 is none
#: for 24 tokens, and a scale that begins behind the training length is 1.
EXAMPLES = {
    "hybrid": {"name": "hybrid", "local_window": 4},
    "scaled_nope": {"name": "scaled_nope", "interval": 4},
}
SCHEMES = [EXAMPLES.get(name, name) for name in registry().names]
T5_IN_BOTH = {
    "name": "hybrid",
    "local": {"name": "t5", "buckets": 8, "max_distance": 12},
    "global_": {"name": "t5"},
    "local_window": 4,
}
IROPE = {
    "name": "hybrid",
    "local_window": None,
    "local_chunk": 5,
    "global_": {"name": "scaled_nope", "interval": 4},
}
#: The other direction with other sizes: three heads, 10 wide, on one key/value head.
BIDIRECTIONAL = AttentionDims(30, 3, n_layers=4, context_length=28, n_kv_heads=1, causal=False)


@dataclasses.dataclass
class NoConfig:
    pass


def in_a_window(name):
    return SchemeSpec(
        f"{name}+window", NoConfig, lambda _, dims: with_span(build_scheme({"name": name}, dims), 5)
    )


def in_chunks(name):
    return SchemeSpec(
        f"{name}+chunks",
        NoConfig,
        lambda _, dims: with_span(build_scheme({"name": name}, dims), chunk=5),
    )


@parametrize_checks(*SCHEMES, T5_IN_BOTH, IROPE, slow=False)
def test_causal(check):
    check()


@pytest.mark.parametrize("scheme", [*SCHEMES, T5_IN_BOTH, IROPE], ids=str)
def test_bidirectional(scheme):
    check_scheme(scheme, BIDIRECTIONAL, slow=False)


@pytest.mark.parametrize("name", ["rope", "t5"])
def test_with_a_span(name):
    check_scheme(in_a_window(name), slow=False)


def test_in_chunks():
    check_scheme(in_chunks("rope"), slow=False)


@pytest.mark.parametrize(
    "config",
    [
        {"name": "rope", "layout": "half", "fraction": 0.5},
        {"name": "sinusoidal", "layout": "halves", "exponent": "tensor2tensor"},
        {"name": "t5", "logit_scale": 1.0, "buckets": 7, "max_distance": 20},
        {"name": "shaw", "clip": 2},
        {"name": "learned", "max_length": 30},
    ],
    ids=str,
)
def test_other_settings(config):
    check_scheme(config, slow=False)


def test_one_graph():
    """`torch.compile` of the scheme with the most particular kernel; all others are slow."""
    check_scheme("alibi", dataclasses.replace(DIMS, n_layers=1), only=["compile_agrees"])


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [*SCHEMES, T5_IN_BOTH], ids=str)
def test_one_graph_for_all(scheme):
    check_scheme(scheme, only=["compile_agrees"])


@pytest.mark.parametrize("name", ["nope", "rope", "alibi"])
def test_no_position_table(name):
    """P32: no parameters and no buffers, so nothing that a length or a dtype could spoil."""
    scheme = build_scheme({"name": name}, DIMS)
    assert not list(scheme.parameters())
    assert not list(scheme.buffers())
