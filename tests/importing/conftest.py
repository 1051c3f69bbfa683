"""Small models of the library transformers, every parameter drawn, saved as it saves them.

The library's own initial weights would hide mistakes: its biases are 0 and its norms 1.
"""

import copy
import functools
import json

import pytest
import torch

from posexp.composition import compose_job
from posexp.evaluation.checkpoint import load_model
from posexp.importing.verb import import_hf
from posexp.training.checkpoints import read_checkpoint

LLAMA = {
    "vocab_size": 61, "hidden_size": 48, "intermediate_size": 56, "num_hidden_layers": 2,
    "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 32,
    "rms_norm_eps": 1e-4,
}  # fmt: skip
GPT2 = {
    "vocab_size": 61, "n_positions": 24, "n_embd": 36, "n_layer": 2, "n_head": 3,
    "layer_norm_epsilon": 1e-3, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
NEOX = {
    "vocab_size": 61, "hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 2,
    "num_attention_heads": 3, "max_position_embeddings": 32, "layer_norm_eps": 1e-3,
}  # fmt: skip
GPTJ = {
    "vocab_size": 61, "n_positions": 32, "n_embd": 36, "n_layer": 2, "n_head": 3, "rotary_dim": 8,
    "layer_norm_epsilon": 1e-3, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
BLOOM = {
    "vocab_size": 61, "hidden_size": 30, "n_layer": 2, "n_head": 5, "layer_norm_epsilon": 1e-3,
}  # fmt: skip
GEMMA = {
    "vocab_size": 61, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 5,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12, "sliding_window": 5,
    "max_position_embeddings": 32, "query_pre_attn_scalar": 20, "rms_norm_eps": 1e-4,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
}  # fmt: skip
GEMMA["layer_types"] = GEMMA["layer_types"][:5]


def rope(kind, **settings):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 500.0, **settings}}


LLAMA_3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 20}
YARN = {"original_max_position_embeddings": 16, "beta_fast": 4.0, "beta_slow": 0.5}
DEEPSEEK = {"mscale": 0.7, "mscale_all_dim": 0.4}
LOCAL, GLOBAL = "sliding_attention", "full_attention"
TWO_ROPES = {
    LOCAL: {"rope_type": "default", "rope_theta": 300.0},
    GLOBAL: {"rope_type": "linear", "rope_theta": 5e4, "factor": 8.0},
}

#: Name -> the library's config class, its model, and settings.
CASES = {
    "llama": ("Llama", LLAMA | {"head_dim": 10, "attention_bias": True, "mlp_bias": True}),
    "llama-tied": ("Llama", LLAMA | {"num_key_value_heads": 1, "tie_word_embeddings": True}),
    "llama-gelu": ("Llama", LLAMA | {"hidden_act": "gelu", "rope_theta": 77.0}),
    "llama-linear": ("Llama", LLAMA | rope("linear", factor=3.0)),
    "llama-dynamic": ("Llama", LLAMA | rope("dynamic", factor=3.0)),
    "llama-yarn": ("Llama", LLAMA | rope("yarn", factor=4.0, **YARN)),
    "llama-yarn-mscale": ("Llama", LLAMA | rope("yarn", factor=4.0, **YARN, **DEEPSEEK)),
    "llama-3": ("Llama", LLAMA | rope("llama3", factor=8.0, **LLAMA_3)),
    "gpt2": ("GPT2", GPT2),
    "gpt2-scales": (
        "GPT2",
        GPT2
        | {"scale_attn_weights": False, "scale_attn_by_inverse_layer_idx": True, "n_inner": 50}
        | {"activation_function": "relu", "tie_word_embeddings": False},
    ),
    "gpt_neox": ("GPTNeoX", NEOX | {"rotary_pct": 0.25}),
    "gpt_neox-sequential": (
        "GPTNeoX",
        NEOX
        | {"use_parallel_residual": False, "attention_bias": False, "rotary_pct": 0.75}
        | {"tie_word_embeddings": True, "hidden_act": "gelu_new", "rotary_emb_base": 99.0},
    ),
    "gptj": ("GPTJ", GPTJ),
    "gptj-tied": ("GPTJ", GPTJ | {"tie_word_embeddings": True, "n_inner": 50}),
    "bloom": ("Bloom", BLOOM),
    "bloom-untied": ("Bloom", BLOOM | {"n_head": 6, "tie_word_embeddings": False}),
    "gemma3_text": ("Gemma3Text", GEMMA | {"rope_parameters": TWO_ROPES}),
    "gemma3_text-untied": (
        "Gemma3Text",
        GEMMA
        | {"tie_word_embeddings": False, "attention_bias": True, "layer_types": [LOCAL] * 5},
    ),
}  # fmt: skip


def pytest_generate_tests(metafunc):
    if "every_case" in metafunc.fixturenames:
        metafunc.parametrize("every_case", CASES)


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    around = 0.0 if "gemma" in model.config.model_type else 1.0  # whose norms multiply by 1 + w
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 2:
                parameter.copy_(drawn * 1.5 * parameter.shape[-1] ** -0.5)
            else:
                parameter.copy_(0.4 * drawn + (around if name.endswith("weight") else 0.0))


@pytest.fixture(autouse=True)
def compose_once(monkeypatch):
    """Composing takes longer than the rest of an import, and gives the same for the same words."""
    monkeypatch.setattr("posexp.importing.run.compose_job", lambda words: composed(tuple(words)))


@functools.cache
def composed_text(words):
    return json.dumps(compose_job(words))


def composed(words):
    return json.loads(composed_text(words))


@pytest.fixture
def save(tmp_path):
    """`save("llama", seed=3, hidden_act="gelu")` gives the library's model and its directory."""

    def make(case, seed=0, **changes):
        import transformers

        kind, settings = CASES[case]
        # The library completes the dictionaries that it is given.
        config = getattr(transformers, f"{kind}Config")(**copy.deepcopy(settings | changes))
        names = {"GPT2": "GPT2LMHeadModel", "Gemma3Text": "Gemma3ForCausalLM"}
        model = getattr(transformers, names.get(kind, f"{kind}ForCausalLM"))(config).eval()
        randomise(model, seed)
        directory = tmp_path / f"{case}-{seed}"
        model.save_pretrained(directory)
        return model, directory

    return make


@pytest.fixture
def imported(tmp_path):
    """`imported(directory)` gives the run and its model."""

    def run(directory, **options):
        out = import_hf(directory, tmp_path / "runs" / directory.name, **options)
        checkpoint = read_checkpoint(out)
        return out, load_model(checkpoint["posexp"]["config"], checkpoint).eval()

    return run


@pytest.fixture
def edit():
    """`edit(directory, hidden_act="mish")` changes fields of its config.json; None removes one."""

    def change(directory, **fields):
        path = directory / "config.json"
        config = json.loads(path.read_text()) | fields
        path.write_text(json.dumps({k: v for k, v in config.items() if v is not None}))

    return change
