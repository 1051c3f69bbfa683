import pytest
import torch

from posexp import AttentionDims, build_scheme, with_span
from posexp.composition import compose_job

ROPE, NOPE, ALIBI = {"name": "rope"}, {"name": "nope"}, {"name": "alibi"}


def hybrid(n_layers=8, context_length=128, **parameters):
    dims = AttentionDims(32, 4, n_layers=n_layers, context_length=context_length)
    return build_scheme({"name": "hybrid", **parameters}, dims)


def windows(scheme):
    return [scheme.for_layer(i).window for i in range(scheme.dims.n_layers)]


def test_every_fourth_layer_is_global():
    """P16."""
    scheme = hybrid(8)
    assert windows(scheme) == [32, 32, 32, None, 32, 32, 32, None]
    for layer in range(8):
        rotates = "transform_query" in scheme.for_layer(layer).acts_on
        assert rotates == (layer not in (3, 7))


def test_each_kind_has_its_own_parameters():
    scheme = hybrid(
        2,
        pattern="LG",
        local={"name": "rope", "theta": 100.0},
        global_={"name": "rope", "theta": 1e6},
        local_window=4,
        global_window=9,
    )
    assert windows(scheme) == [4, 9]
    q, positions = torch.randn(1, 4, 3, 8), torch.tensor([5, 6, 7])
    for layer, theta in enumerate([100.0, 1e6]):
        alone = build_scheme({"name": "rope", "theta": theta}, scheme.dims)
        found = scheme.for_layer(layer).transform_query(q, positions)
        assert torch.equal(found, alone.transform_query(q, positions))


def test_a_kind_shares_its_table_over_its_layers():
    t5 = {"name": "t5", "buckets": 8}
    scheme = hybrid(4, local=t5, global_=t5, local_window=None)
    assert len(list(scheme.parameters())) == 2
    assert scheme.for_layer(0).table is scheme.for_layer(2).table
    assert scheme.for_layer(0).table is not scheme.for_layer(3).table


def test_local_mask_counts_the_token_itself():
    positions = torch.arange(6)
    mask = hybrid(8, local_window=3).for_layer(0).mask(positions, positions)
    assert mask[5].tolist() == [False, False, False, True, True, True]


def test_logit_scale_belongs_to_its_layers():
    scheme = hybrid(4, local={"name": "t5", "logit_scale": 1.0}, global_=NOPE)
    assert [scheme.for_layer(i).logit_scale for i in range(4)] == [1.0, 1.0, 1.0, None]


def test_reports_what_its_parts_act_on():
    assert hybrid(local=ALIBI, global_=ROPE).acts_on == {
        "distance_slopes",
        "transform_query",
        "transform_key",
        "window",
    }
    assert "window" not in hybrid(local_window=None).acts_on


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_layers": 3}, "no G in 3 layers; use n_layers >= 4"),
        ({"n_layers": 2, "pattern": "GGGL"}, "no L in 2 layers; use n_layers >= 4"),
        ({"pattern": "LLLL"}, "needs both"),
        ({"pattern": ""}, "needs both"),
        ({"pattern": "LLXG"}, r"made of L \(local\) and G \(global\) .* got 'LLXG'"),
        ({"pattern": "lllg"}, "got 'lllg'"),
        ({"local_window": -4}, "local_window .* at least 1, or null for all; got -4"),
        ({"global_window": 0}, "global_window .* got 0"),
        ({"local_chunk": 0}, "local_chunk counts positions: at least 1, or null; got 0"),
        ({"local_chunk": 8}, "local_window=32 and local_chunk=8 do not go together"),
        ({"local": {"name": "learned"}}, "learned cannot be scheme.local: it acts on embed"),
        ({"global_": {"name": "sinusoidal"}}, "sinusoidal cannot be scheme.global_: .* embed"),
        ({"local": {"name": "hybrid"}}, "scheme.local is a hybrid again"),
        ({"local": "rope"}, "scheme.local must be a scheme with its name, got 'rope'"),
        ({"local": {"name": "rope", "thta": 1}}, "did you mean 'theta'"),
    ],
)
def test_refusals(parameters, message):
    """P16 and its neighbours."""
    with pytest.raises(ValueError, match=message):
        hybrid(**parameters)


def test_a_span_on_top_is_refused():
    with pytest.raises(ValueError, match="sets a span for each layer itself"):
        with_span(hybrid(4), 16)
    unwindowed = with_span(hybrid(4, local_window=None), 16)
    assert windows(unwindowed) == [16, 16, 16, 16]


def composed(*overrides):
    return compose_job([*overrides, "model=small"])["scheme"]


def test_gemma3_preset_is_the_models_pattern():
    from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig

    config = composed("scheme=gemma3")
    scheme = build_scheme(config, AttentionDims(32, 4, n_layers=26))
    original = Gemma3TextConfig(num_hidden_layers=26)
    local = [kind == "sliding_attention" for kind in original.layer_types]
    assert [window is not None for window in windows(scheme)] == local
    assert config["local"]["theta"] == original.default_theta["local"]
    assert config["global_"]["theta"] == original.default_theta["global"]
    assert config["local"]["layout"] == config["global_"]["layout"] == "half"
    for layer in range(26):
        assert "transform_query" in scheme.for_layer(layer).acts_on


def test_cohere2_preset_is_the_models_pattern():
    from transformers.models.cohere2.configuration_cohere2 import Cohere2Config

    scheme = build_scheme(composed("scheme=cohere2"), AttentionDims(32, 4, n_layers=40))
    local = [k == "sliding_attention" for k in Cohere2Config(num_hidden_layers=40).layer_types]
    assert [window is not None for window in windows(scheme)] == local
    for layer in range(40):
        assert ("transform_query" in scheme.for_layer(layer).acts_on) == local[layer]


@pytest.mark.parametrize("preset", ["llama4", "smollm3"])
def test_layers_without_positions_are_those_of_the_models(preset):
    """A17: NoPE where (layer + 1) % 4 == 0. `no_rope_layers` has a 1 where RoPE is used."""
    if preset == "llama4":
        from transformers.models.llama4.configuration_llama4 import Llama4TextConfig as Config
    else:
        from transformers.models.smollm3.configuration_smollm3 import SmolLM3Config as Config
    config = composed(f"scheme={preset}")
    scheme = build_scheme(config, AttentionDims(32, 4, n_layers=48))
    original = Config(num_hidden_layers=48)
    rotates = ["transform_key" in scheme.for_layer(i).acts_on for i in range(48)]
    assert rotates == [bool(used) for used in original.no_rope_layers]
    assert rotates == [(layer + 1) % 4 != 0 for layer in range(48)]
    assert config["local"]["theta"] == original.default_theta
    assert config["local"]["layout"] == {"llama4": "interleaved", "smollm3": "half"}[preset]
    chunked = [kind == "chunked_attention" for kind in original.layer_types]
    assert [scheme.for_layer(i).chunk is not None for i in range(48)] == chunked
    assert windows(scheme) == [None] * 48


def test_llama4_preset_scales_the_queries_of_its_global_layers():
    """Chunk and interval are one number in the model, 8192, and a quarter of T in the preset."""
    from transformers.models.llama4.configuration_llama4 import Llama4TextConfig

    original, config = Llama4TextConfig(), composed("scheme=llama4")
    assert original.attention_chunk_size == original.floor_scale == 8192
    assert config["local_chunk"] == config["global_"]["interval"] == 32
    assert config["global_"]["strength"] == original.attn_scale
    as_in_the_model = composed(
        "scheme=llama4", "scheme.local_chunk=8192", "scheme.global_.interval=8192"
    )
    scheme = build_scheme(as_in_the_model, AttentionDims(32, 4, n_layers=4))
    q, at = torch.ones(1, 4, 5, 8), torch.tensor([8190, 8191, 16383, 1_000_000, 0])
    expected = torch.tensor([1.0, 1.06931472, 1.10986123, 1.48121844, 1.0])
    found = scheme.for_layer(3).transform_query(q, at)[0, 0, :, 0]
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    mask = scheme.for_layer(0).mask(torch.tensor([8191, 8192, 8193]), torch.tensor([8191, 8192]))
    assert mask.tolist() == [[True, False], [False, True], [False, True]]


def test_preset_windows_are_windows_while_training():
    """The documented rule: a quarter of the default training length."""
    for preset in ("gemma3", "cohere2", "hybrid"):
        job = compose_job([f"scheme={preset}", "model=small"])
        assert job["scheme"]["local_window"] == job["trainer"]["context_length"] // 4


def test_a_kind_is_chosen_as_any_scheme():
    config = composed("scheme=hybrid", "scheme@scheme.local=t5", "scheme.local.buckets=8")
    assert config["local"] == {
        "name": "t5",
        "buckets": 8,
        "max_distance": 128,
        "logit_scale": None,
    }
    assert config["global_"] == {"name": "nope"}
