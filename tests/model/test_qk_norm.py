"""QK-norm against the library transformers, and where it stands."""

import pytest
import torch

ROPE_HALF = {"name": "rope", "layout": "half"}
IROPE = {
    "name": "hybrid",
    "local": {"name": "rope", "theta": 5e5},
    "global_": {"name": "scaled_nope", "interval": 4},
    "local_window": None,
    "local_chunk": 4,
}


def projections(module):
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "out": "o_proj"}
    return {f"{theirs}.weight": getattr(module, ours).weight for ours, theirs in names.items()}


def additive(visible):
    return torch.zeros(visible.shape).masked_fill(~visible, -torch.inf)[None, None]


def causal(length):
    return torch.ones(length, length, dtype=torch.bool).tril()


@torch.no_grad()
def test_before_the_rotation_as_qwen3(make_layer):
    from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
    from transformers.models.qwen3.modeling_qwen3 import Qwen3Attention, Qwen3RotaryEmbedding

    ours, call = make_layer(ROPE_HALF, qk_norm="before", n_kv_heads=2)
    config = Qwen3Config(
        hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        num_hidden_layers=2, rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    )  # fmt: skip
    config._attn_implementation = "eager"
    theirs = Qwen3Attention(config, 0).eval()
    norms = {
        "q_norm.weight": ours.norm_before.query.weight,
        "k_norm.weight": ours.norm_before.key.weight,
    }
    theirs.load_state_dict(projections(ours) | norms)
    x = torch.randn(2, 9, 32)
    rotary = Qwen3RotaryEmbedding(config)(x, torch.arange(9)[None])
    expected, _ = theirs(x, position_embeddings=rotary, attention_mask=additive(causal(9)))
    torch.testing.assert_close(call(x), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("number", [2, 3])
@torch.no_grad()
def test_llama_4_with_chunks_and_scaled_queries(make_layer, number):
    """A layer with RoPE, a norm behind it and chunks of 4; and one with none of the three."""
    from transformers.models.llama4.configuration_llama4 import Llama4TextConfig
    from transformers.models.llama4.modeling_llama4 import (
        Llama4TextAttention,
        Llama4TextRotaryEmbedding,
    )

    ours, call = make_layer(
        IROPE, number=number, qk_norm="after", qk_norm_affine=False, norm="rmsnorm", norm_eps=1e-5,
        n_kv_heads=2,
    )  # fmt: skip
    config = Llama4TextConfig(
        hidden_size=32, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        num_hidden_layers=4, attention_chunk_size=4, floor_scale=4, attn_scale=0.1,
        rope_parameters={"rope_type": "default", "rope_theta": 5e5},
    )  # fmt: skip
    config._attn_implementation = "eager"
    theirs = Llama4TextAttention(config, number).eval()
    theirs.load_state_dict(projections(ours))
    x = torch.randn(2, 11, 32)
    rotary = Llama4TextRotaryEmbedding(config)(x, torch.arange(11)[None])
    token = torch.arange(11)
    visible = causal(11)
    if config.layer_types[number] == "chunked_attention":
        visible = visible & (token[:, None] // 4 == token // 4)
    expected, _ = theirs(x, position_embeddings=rotary, attention_mask=additive(visible))
    torch.testing.assert_close(call(x), expected, atol=1e-5, rtol=0)


def test_a_norm_behind_transforms_is_only_where_there_are_some(make_layer):
    for number, normed in ((0, True), (3, False)):
        module, _ = make_layer(IROPE, number=number, qk_norm="after")
        assert module.norm_before is None
        assert (module.norm_after is not None) == normed
        names = {name for name, _ in module.named_parameters() if "norm" in name}
        expected = {"norm_after.query.weight", "norm_after.key.weight"} if normed else set()
        assert names == expected


def test_every_layer_has_its_norm_before(make_layer):
    module, _ = make_layer(IROPE, number=3, qk_norm="before")
    assert {n for n, _ in module.named_parameters() if "norm" in n} == {
        "norm_before.query.weight",
        "norm_before.key.weight",
    }


@torch.no_grad()
def test_logits_are_bounded(make_layer):
    """Queries and keys of length sqrt(d) make logits of at most sqrt(d), however large x is."""
    module, _ = make_layer(ROPE_HALF, qk_norm="before", qk_norm_affine=False)
    q, k, _ = module.heads(1e4 * torch.randn(2, 9, 32))
    assert (q @ k.mT * 8**-0.5).abs().max() <= 8**0.5 + 1e-4


@pytest.mark.parametrize(
    ("scheme", "config", "words"),
    [
        ("alibi", {"qk_norm": "after"}, "Alibi transforms none .transform_key.*qk_norm=before"),
        ("rope", {"qk_norm": "after", "attention": "latent"}, "latents have norms of their own"),
    ],
)
def test_refusals(make_layer, scheme, config, words):
    with pytest.raises(ValueError, match=words):
        make_layer({"name": scheme}, **config)
