"""Latent attention against the library transformers, its two forms, and what a cache holds."""

import pytest
import torch

from posexp import build_scheme, with_span
from posexp.model import Cache, Layout, ModelConfig, Transformer
from posexp.model.init import init_weights
from posexp.model.kernels import KERNELS

ROPE = {"name": "rope"}


def causal_mask(length):
    return torch.full((length, length), -torch.inf).triu(1)[None, None]


@pytest.mark.parametrize("query_latent", [None, 12])
@torch.no_grad()
def test_equals_the_attention_of_deepseek_v2(make_layer, query_latent):
    from transformers.models.deepseek_v2.configuration_deepseek_v2 import DeepseekV2Config
    from transformers.models.deepseek_v2.modeling_deepseek_v2 import (
        DeepseekV2Attention,
        DeepseekV2RotaryEmbedding,
    )

    widths = {"latent_width": 20, "rotary_width": 6, "query_latent_width": query_latent}
    ours, call = make_layer(ROPE, attention="latent", **widths)
    config = DeepseekV2Config(
        hidden_size=32, num_attention_heads=4, num_key_value_heads=4, kv_lora_rank=20,
        q_lora_rank=query_latent, qk_nope_head_dim=8, qk_rope_head_dim=6, v_head_dim=8,
        head_dim=6,
    )  # fmt: skip
    config._attn_implementation = "eager"
    theirs = DeepseekV2Attention(config, 0).eval()
    made = torch.cat([x.weight.unflatten(0, (4, 8)) for x in (ours.key, ours.value)], dim=1)
    weights = {
        "kv_a_proj_with_mqa.weight": torch.cat((ours.latent.weight, ours.shared_key.weight)),
        "kv_a_layernorm.weight": ours.latent_norm.weight,
        "kv_b_proj.weight": made.flatten(0, 1),
        "o_proj.weight": ours.out.weight,
    }
    if query_latent is None:
        weights["q_proj.weight"] = ours.query.weight
    else:
        weights["q_a_proj.weight"] = ours.query_latent.weight
        weights["q_a_layernorm.weight"] = ours.query_norm.weight
        weights["q_b_proj.weight"] = ours.query.weight
    theirs.load_state_dict(weights)
    x = torch.randn(2, 9, 32)
    rotary = DeepseekV2RotaryEmbedding(config)(x, torch.arange(9)[None])
    expected, _ = theirs(x, attention_mask=causal_mask(9), position_embeddings=rotary)
    torch.testing.assert_close(call(x), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("window", "kernel", "queries"), [(None, "sdpa", 9), (3, "sdpa_mask", 9), (3, "sdpa_mask", 2)]
)
@torch.no_grad()
def test_the_absorbed_form_equals_the_expanded_one(make_layer, window, kernel, queries):
    """In float64, where both differ by rounding alone."""
    module, _ = make_layer(ROPE, attention="latent", latent_width=20, rotary_width=6)
    module.double()
    scheme = with_span(build_scheme(ROPE, module.dims), window)
    positions = torch.arange(9)
    layout = Layout(positions[-queries:], positions)
    plain, turned, shared, latent = (
        torch.randn(shape, dtype=torch.float64)
        for shape in ((2, 4, queries, 8), (2, 4, queries, 6), (2, 1, 9, 6), (2, 1, 9, 20))
    )
    chosen = KERNELS[kernel]
    given = (plain, turned, shared, latent, chosen, chosen.prepare(scheme, layout))
    expanded, absorbed = module.expanded(*given), module.absorbed(*given)
    assert expanded.shape == (2, 4, queries, 8)
    torch.testing.assert_close(absorbed, expanded, atol=1e-12, rtol=0)


def test_a_form_is_chosen_by_what_it_multiplies(make_layer):
    """4 heads of 8: one query on 64 keys need not make 64 keys; 64 queries had better."""
    module, _ = make_layer(ROPE, attention="latent", latent_width=32, rotary_width=4)
    assert module.absorbing_pays(1, 64)
    assert not module.absorbing_pays(64, 64)


@pytest.mark.parametrize("name", ["rope", "t5", "dynamic_ntk"])
@pytest.mark.parametrize("forced", ["expanded", "absorbed"])
@torch.no_grad()
def test_decoding_in_either_form(monkeypatch, name, forced):
    sizes = ModelConfig(n_layers=2, d_model=32, n_heads=4, attention="latent")
    model = Transformer(sizes, build_scheme({"name": name}, sizes.dims(24)), 29, 24)
    init_weights(model, 0)
    model.eval()
    pays = forced == "absorbed"
    monkeypatch.setattr(type(model.blocks[0].attention), "absorbing_pays", lambda *_: pays)
    tokens = torch.randint(29, (2, 20), generator=torch.Generator().manual_seed(1))
    cache, found = Cache(), []
    for start, stop in ((0, 7), (7, 8), (8, 9), (9, 20)):
        found.append(model(tokens[:, start:stop], cache=cache))
    torch.testing.assert_close(torch.cat(found, 1), model(tokens), atol=1e-5, rtol=0)


def test_widths_are_derived_as_in_deepseek_v2():
    """d_h = 128: a latent of 4 d_h = 512, a shared key of d_h / 2 = 64."""
    sizes = ModelConfig(n_layers=1, d_model=1024, n_heads=8, attention="latent")
    assert (sizes.kv_latent_width, sizes.shared_key_width) == (512, 64)
    dims = sizes.dims(16)
    assert (dims.d_head, dims.n_kv_heads, dims.n_heads, dims.d_model) == (64, 1, 8, 1024)
    odd = ModelConfig(n_layers=1, d_model=30, n_heads=3, attention="latent")
    assert odd.shared_key_width == 4
    with pytest.raises(ValueError, match="nearest valid d_model: 8"):
        ModelConfig(n_layers=1, d_model=10, n_heads=4, attention="latent").dims(16)
