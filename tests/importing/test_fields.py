"""config.json files as older versions of the library wrote them: no field is unknown."""

import pytest

from posexp.importing.fields import find_family, read_fields

#: Llama 3.3 70B.
LLAMA_3 = {
    "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "head_dim": 128,
    "hidden_act": "silu", "hidden_size": 8192, "initializer_range": 0.02,
    "intermediate_size": 28672, "max_position_embeddings": 131072, "mlp_bias": False,
    "model_type": "llama", "num_attention_heads": 64, "num_hidden_layers": 80,
    "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192, "rope_type": "llama3",
    },
    "rope_theta": 500000.0, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
    "transformers_version": "4.47.0.dev0", "use_cache": True, "vocab_size": 128256,
}  # fmt: skip
#: GPT-NeoX-20B.
NEOX = {
    "architectures": ["GPTNeoXForCausalLM"], "attention_probs_dropout_prob": 0.1,
    "bos_token_id": 0, "eos_token_id": 2, "hidden_act": "gelu_fast", "hidden_dropout_prob": 0.1,
    "hidden_size": 6144, "initializer_range": 0.02, "intermediate_size": 24576,
    "layer_norm_eps": 1e-05, "max_position_embeddings": 2048, "model_type": "gpt_neox",
    "num_attention_heads": 64, "num_hidden_layers": 44, "rotary_emb_base": 10000,
    "rotary_pct": 0.25, "tie_word_embeddings": False, "torch_dtype": "float32",
    "transformers_version": "4.19.0.dev0", "use_cache": True, "vocab_size": 50432,
}  # fmt: skip
#: A BLOOM of version 4.22.
BLOOM = {
    "apply_residual_connection_post_layernorm": False, "architectures": ["BloomModel"],
    "attention_dropout": 0.0, "attention_softmax_in_fp32": True, "bias_dropout_fusion": True,
    "bos_token_id": 1, "eos_token_id": 2, "hidden_dropout": 0.0, "n_embed": 14336,
    "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "masked_softmax_fusion": True,
    "model_type": "bloom", "num_attention_heads": 112, "n_inner": None, "n_layer": 70,
    "offset_alibi": 100, "pad_token_id": 3, "pretraining_tp": 4, "skip_bias_add": True,
    "skip_bias_add_qkv": False, "slow_but_exact": False, "transformers_version": "4.22.2",
    "unk_token_id": 0, "use_cache": True, "vocab_size": 250880, "seq_length": 2048,
}  # fmt: skip
#: Gemma 3 with pictures leaves to the library's defaults what it can.
GEMMA_3 = {
    "architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999,
    "eoi_token_index": 256000, "eos_token_id": [1, 106], "image_token_index": 262144,
    "initializer_range": 0.02, "mm_tokens_per_image": 256, "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
        "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    },
    "torch_dtype": "bfloat16", "transformers_version": "4.50.0.dev0",
    "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"},
}  # fmt: skip


def translated(config):
    spec = find_family(config)
    fields = read_fields(spec, config)
    assert fields.unknown == ()
    return spec.build(fields.values)


def test_llama_3():
    found = translated(LLAMA_3)
    assert found.scheme == {
        "name": "yarn", "theta": 5e5, "layout": "half", "fraction": 1.0, "factor": 8.0,
        "trained_length": 8192, "convention": "paper", "beta_slow": 1.0, "beta_fast": 4.0,
        "attention_factor": 1.0,
    }  # fmt: skip
    assert (found.context_length, found.bos, found.window) == (131072, 128000, None)
    assert found.model["n_kv_heads"] == 8 and found.model["activation"] == "swiglu"
    assert len(found.weights) == 80 * 9 + 3


def test_gpt_neox():
    found = translated(NEOX)
    expected = {"name": "rope", "theta": 10000.0, "layout": "half", "fraction": 0.25}
    assert found.scheme == expected
    assert found.model["activation"] == "gelu_tanh"
    assert found.model["residual"] == "parallel"
    # Two norms, four projections of attention, two of the feed-forward, each with its bias.
    assert len(found.weights) == 44 * 16 + 4


def test_bloom():
    found = translated(BLOOM)
    assert found.scheme == {"name": "alibi"}
    assert (found.model["d_model"], found.model["n_heads"]) == (14336, 112)
    assert found.context_length == 2048


def test_gemma_3():
    found = translated(GEMMA_3)
    assert found.scheme == {
        "name": "hybrid", "pattern": "LLLLLG", "local_window": 1024, "global_window": None,
        "local": {"name": "rope", "theta": 1e4, "layout": "half", "fraction": 1.0},
        "global_": {
            "name": "position_interpolation", "theta": 1e6, "layout": "half", "fraction": 1.0,
            "factor": 8.0,
        },
    }  # fmt: skip
    assert (found.model["n_heads"], found.model["n_kv_heads"], found.model["d_head"]) == (8, 4, 256)
    assert found.model["vocabulary"] == 262208
    assert found.model["embedding_scale"] == pytest.approx(50.5964426)  # sqrt(2560)
    assert "bfloat16" in found.notes[0]


@pytest.mark.parametrize(
    ("rope", "expected"),
    [
        ({"type": "linear", "factor": 2.0}, {"name": "position_interpolation", "factor": 2.0}),
        (
            {"type": "dynamic", "factor": 2.0},
            {"name": "dynamic_ntk", "factor": 2.0, "trained_length": 131072},
        ),
        (
            {"type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}
            | {"finetuned": True},
            {"name": "yarn", "factor": 16.0, "trained_length": 4096, "convention": "code"}
            | {"beta_fast": 32.0, "beta_slow": 1.0, "attention_factor": None},
        ),
        # The ratio of the lengths where the factor is left out.
        (
            {"rope_type": "yarn", "original_max_position_embeddings": 32768},
            {"name": "yarn", "factor": 4.0, "trained_length": 32768, "convention": "code"}
            | {"beta_fast": 32.0, "beta_slow": 1.0, "attention_factor": None},
        ),
    ],
)
def test_scaled_positions(rope, expected):
    found = translated(LLAMA_3 | {"rope_scaling": rope}).scheme
    assert found == expected | {"theta": 5e5, "layout": "half", "fraction": 1.0}


def test_one_field_by_two_names():
    assert translated(BLOOM | {"hidden_size": 14336}).model["d_model"] == 14336
    with pytest.raises(ValueError, match="names of one field with two values"):
        translated(BLOOM | {"hidden_size": 64})
