import numpy as np
import pytest
import torch

from posexp import AttentionDims, build_scheme


def yarn(d_head=16, trained=512, **parameters):
    dims = AttentionDims(2 * d_head, 2, context_length=trained)
    return build_scheme({"name": "yarn", **parameters}, dims)


def frequencies(scheme):
    return scheme.frequencies(torch.arange(1), torch.float64).numpy()


@pytest.mark.parametrize(
    ("convention", "expected"),
    [
        ("paper", [1, 0.268553038, 0.042295322, 0.00911209466, 0.0025]),
        ("code", [1, 0.25693506, 0.0625, 0.0138349648, 0.0025]),
    ],
)
def test_frequencies_by_hand(convention, expected):
    """d = 16, base 10000, L = 512, s = 4; slower pairs are interpolated whole."""
    found = frequencies(yarn(convention=convention))
    np.testing.assert_allclose(found[:5], expected, rtol=1e-8)
    np.testing.assert_allclose(found[4:], 1e4 ** (-np.arange(4, 8) / 8) / 4, rtol=1e-12)


LLAMA_3 = {
    "theta": 5e5,
    "factor": 8.0,
    "trained_length": 8192,
    "convention": "paper",
    "beta_slow": 1.0,
    "beta_fast": 4.0,
    "attention_factor": 1.0,
}


def test_llama_3_by_hand():
    """d = 128, theta = 500000: the ratios of the frequencies to RoPE's."""
    scheme = yarn(128, **LLAMA_3)
    ratios = frequencies(scheme) / 5e5 ** (-np.arange(64) / 64)
    expected = [1, 0.828168, 0.493507, 0.190211, 0.125]
    np.testing.assert_allclose(ratios[[28, 29, 31, 34, 35]], expected, atol=5e-7)
    np.testing.assert_allclose(ratios[:28], 1)
    np.testing.assert_allclose(ratios[35:], 1 / 8)
    assert scheme.amplitude == 1.0


def test_llama_3_against_transformers():
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=128,
        num_attention_heads=2,
        max_position_embeddings=4096,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 1e5,
            "factor": 32.0,
            "low_freq_factor": 2.0,
            "high_freq_factor": 6.0,
            "original_max_position_embeddings": 512,
        },
    )
    expected, factor = ROPE_INIT_FUNCTIONS["llama3"](config, device="cpu")
    changed = {"theta": 1e5, "factor": 32.0, "trained_length": 512}
    scheme = yarn(64, **LLAMA_3 | changed | {"beta_slow": 2.0, "beta_fast": 6.0})
    np.testing.assert_allclose(frequencies(scheme), expected.numpy(), rtol=1e-5)
    assert scheme.amplitude == factor == 1.0


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(1, 1), (2, 1.06931472), (4, 1.13862944), (8, 1.20794415), (32, 1.34657359), (64, 1.415888)],
)
def test_the_attention_factor_by_hand(factor, expected):
    """P09."""
    assert yarn(factor=float(factor)).amplitude == pytest.approx(expected, abs=1e-6)
    assert yarn(factor=float(factor), attention_factor=0.5).amplitude == 0.5


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_the_factor_is_applied_once_to_q_and_once_to_k(fraction):
    """And to nothing that is not rotated; so it comes squared into the logits."""
    scheme, plain = yarn(fraction=fraction), yarn(fraction=fraction, attention_factor=1.0)
    x, positions = torch.randn(1, 2, 6, 16, dtype=torch.float64), torch.arange(6)
    turned = scheme.rotary_width
    for method in ("transform_query", "transform_key"):
        found, without = (getattr(s, method)(x, positions) for s in (scheme, plain))
        torch.testing.assert_close(found[..., :turned], 1.138629436 * without[..., :turned])
        assert torch.equal(found[..., turned:], x[..., turned:])


def test_factor_1_is_rope():
    rope = build_scheme({"name": "rope"}, AttentionDims(32, 2))
    x, positions = torch.randn(1, 2, 9, 16), torch.arange(9)
    for convention in ("paper", "code"):
        found = yarn(factor=1.0, convention=convention).transform_query(x, positions)
        torch.testing.assert_close(found, rope.transform_query(x, positions), atol=1e-6, rtol=0)


@pytest.mark.parametrize("length", [64, 512, 4096])
@pytest.mark.parametrize("betas", [(32.0, 1.0), (8.0, 2.0)])
def test_code_against_transformers(length, betas):
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=128,
        num_attention_heads=2,
        max_position_embeddings=8 * length,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 1e4,
            "factor": 8.0,
            "original_max_position_embeddings": length,
            "beta_fast": betas[0],
            "beta_slow": betas[1],
        },
    )
    expected, factor = ROPE_INIT_FUNCTIONS["yarn"](config, device="cpu")
    scheme = yarn(64, length, factor=8.0, convention="code", beta_fast=betas[0], beta_slow=betas[1])
    np.testing.assert_allclose(frequencies(scheme), expected.numpy(), rtol=1e-5)
    assert scheme.amplitude == pytest.approx(factor)


def test_rotation_against_transformers():
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    config = LlamaConfig(
        hidden_size=32,
        num_attention_heads=2,
        max_position_embeddings=256,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 1e4,
            "factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    )
    q, k = torch.randn(2, 1, 2, 50, 16)
    positions = torch.arange(100, 150)
    cos, sin = LlamaRotaryEmbedding(config)(q, positions[None])
    scheme = yarn(16, 64, convention="code", layout="half")
    found = scheme.transform_query(q, positions), scheme.transform_key(k, positions)
    torch.testing.assert_close(found, apply_rotary_pos_emb(q, k, cos, sin), atol=1e-5, rtol=0)


@pytest.mark.parametrize(("convention", "kept"), [("code", True), ("paper", False)])
def test_the_fastest_pair_after_a_short_training(convention, kept):
    """128 tokens: pair 0 turns 20.4 times, g = 0.625 in the paper's form."""
    fastest = frequencies(yarn(trained=128, convention=convention))[0]
    assert fastest == pytest.approx(1.0 if kept else 0.375 / 4 + 0.625, abs=1e-3)


def test_trained_length_replaces_that_of_the_model():
    given = frequencies(yarn(trained=512, trained_length=64))
    np.testing.assert_array_equal(given, frequencies(yarn(trained=64)))
    assert not np.allclose(given, frequencies(yarn(trained=512)))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"factor": 0.5}, "factor must be at least 1"),
        ({"trained_length": 0}, "trained_length must be at least 1"),
        ({"convention": "papre"}, "code or paper, got 'papre'"),
        ({"beta_fast": 1.0}, "beta_fast > beta_slow > 0"),
        ({"attention_factor": 0.0}, "attention_factor must be positive"),
        ({"theta": 1.0}, "theta must be above 1"),
    ],
)
def test_bad_values(parameters, said):
    with pytest.raises(ValueError, match=said):
        yarn(**parameters)
