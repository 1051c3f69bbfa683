"""What is timed is the attention that it says it is."""

import numpy as np
import pytest
import torch

from posexp.bench.attention import Inputs, attention_call, fused_causal_call
from posexp.bench.candidates import candidates
from posexp.bench.models import distinct_layers, with_scheme, without_positions


def build(tiny, text, length=12):
    (found,) = candidates(tiny(schemes=(text,), layers=4))
    return with_scheme(found.config, length, "cpu")


def dense_gradients(inputs, heads, bias):
    """dL/d(q, k, v) of softmax(q k^T / sqrt(d) + bias) v in float64, by hand."""
    q, k, v, upstream = (
        x.detach().double().unflatten(-1, (heads, -1)).transpose(1, 2).numpy()
        for x in (inputs.q, inputs.k, inputs.v, inputs.upstream)
    )
    scale = q.shape[-1] ** -0.5
    scores = scale * q @ k.swapaxes(-1, -2) + bias
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    d_p = upstream @ v.swapaxes(-1, -2)
    d_s = p * (d_p - (d_p * p).sum(-1, keepdims=True))
    found = (scale * d_s @ k, scale * d_s.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ upstream)
    merged = [x.swapaxes(1, 2).reshape(inputs.q.shape) for x in found]
    return merged, d_s


def causal(length):
    return np.where(np.tri(length, dtype=bool), 0.0, -np.inf)


def test_the_floor_is_plain_causal_attention(tiny):
    model = build(tiny, "nope")
    inputs = Inputs.random(model.dims, 2, 12, torch.float32, "cpu")
    expected, _ = dense_gradients(inputs, 2, causal(12))
    for call in (
        fused_causal_call(model.dims, inputs),
        attention_call(model, 0, inputs),
        attention_call(without_positions(build(tiny, "t5")), 0, inputs),
    ):
        for found, wanted in zip(call(), expected, strict=True):
            np.testing.assert_allclose(found.numpy(), wanted, atol=1e-5)


def test_a_scheme_acts_and_its_parameters_get_their_gradients(tiny):
    """T5's table: the gradient of a bucket is the sum of dS over the pairs that fall into it."""
    model = build(tiny, "t5")
    inputs = Inputs.random(model.dims, 2, 12, torch.float32, "cpu")
    *found, table = attention_call(model, 0, inputs)()
    expected, d_s = dense_gradients(inputs, 2, causal(12))  # its table starts at zero
    for gradient, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(gradient.numpy(), wanted, atol=1e-5)
    distance = np.subtract.outer(np.arange(12), np.arange(12))
    for n in range(12):  # below 16, a bucket is a distance
        wanted = d_s[..., distance == n].sum((0, 2))
        np.testing.assert_allclose(table[n].numpy(), wanted, atol=1e-5)


def test_bf16_inputs_stay_bf16(tiny):
    model = build(tiny, "alibi")
    inputs = Inputs.random(model.dims, 1, 12, torch.bfloat16, "cpu")
    assert {x.dtype for x in attention_call(model, 0, inputs)()} == {torch.bfloat16}


@pytest.mark.parametrize(
    ("text", "groups"),
    [("t5", [[0, 1, 2, 3]]), ("hybrid scheme.pattern=LLLG", [[0, 1, 2], [3]])],
)
def test_layers_that_differ_are_told_apart(tiny, text, groups):
    assert distinct_layers(build(tiny, text)) == groups


@pytest.mark.parametrize("setting", ["model.attention=linear", "model.qk_norm=before"])
def test_attention_that_is_more_than_projected_heads_is_not_measured_as_such(tiny, setting):
    (found,) = candidates(tiny(schemes=(f"rope {setting}",)))
    model = with_scheme(found.config, 8, "cpu")
    inputs = Inputs.random(model.dims, 1, 8, torch.float32, "cpu")
    with pytest.raises(ValueError, match=r"measure --parts step,decode"):
        attention_call(model, 0, inputs)


def test_the_baseline_of_a_norm_behind_transforms_has_none(tiny):
    (found,) = candidates(tiny(schemes=("rope model.qk_norm=after model.n_kv_heads=1",)))
    baseline = without_positions(with_scheme(found.config, 8, "cpu"))
    assert baseline.config.qk_norm == "none"
    assert baseline.config.n_kv_heads == 1
