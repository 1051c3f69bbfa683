"""Llama 1, 2 and 3 as the library transformers has them: RMSNorm, SwiGLU, grouped heads, RoPE.

Pairs lie half a head apart: checkpoints in this format are permuted from Meta's interleaved ones.

Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models"; Llama Team 2024, "The
Llama 3 Herd of Models".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posexp import FamilySpec, Translation, Weight, hookimpl
from posexp_families._parts import GATED, activation, layer
from posexp_families._rotary import rotary


@dataclass
class LlamaFields:
    """The fields that are translated, with the library's defaults."""

    vocab_size: int = 32000
    bos_token_id: int | None = 1
    hidden_size: int = 4096
    intermediate_size: int = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    hidden_act: str = "silu"
    max_position_embeddings: int = 2048
    original_max_position_embeddings: int | None = None
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    rope_theta: float = 10000.0
    rope_scaling: Any = None
    rope_parameters: Any = None


def llama(fields: LlamaFields) -> Translation:
    """Raises `ValueError` for an activation or rotary settings that posexp has not."""
    rope = {
        "rope_theta": fields.rope_theta,
        **(fields.rope_scaling or fields.rope_parameters or {}),
    }
    if fields.original_max_position_embeddings is not None:
        rope["original_max_position_embeddings"] = fields.original_max_position_embeddings
    if rope.get("partial_rotary_factor") not in (None, 1, 1.0):
        raise ValueError("partial_rotary_factor: Llama turns whole heads")
    tied = fields.tie_word_embeddings
    model = {
        "n_layers": fields.num_hidden_layers,
        "d_model": fields.hidden_size,
        "n_heads": fields.num_attention_heads,
        "n_kv_heads": fields.num_key_value_heads,
        "d_head": fields.head_dim,
        "d_ff": fields.intermediate_size,
        "vocabulary": fields.vocab_size,
        "norm": "rmsnorm",
        "norm_eps": fields.rms_norm_eps,
        "activation": activation("hidden_act", fields.hidden_act, GATED),
        "qkv_bias": fields.attention_bias,
        "out_bias": fields.attention_bias,
        "feed_forward_bias": fields.mlp_bias,
        "tie_embeddings": tied,
        "embedding_scale": 1.0,
    }
    weights = {"embedding.weight": Weight("embed_tokens.weight")}
    weights |= layer("norm", "norm", bias=False)
    if not tied:
        weights["head.weight"] = Weight("lm_head.weight")
    for i in range(fields.num_hidden_layers):
        weights |= _block(f"blocks.{i}", f"layers.{i}", fields)
    return Translation(
        model=model,
        scheme=rotary(rope, fields.max_position_embeddings, "half"),
        context_length=fields.max_position_embeddings,
        bos=fields.bos_token_id,
        weights=weights,
        same={"lm_head.weight": "embed_tokens.weight"} if tied else {},
    )


def _block(block: str, source: str, fields: LlamaFields) -> dict[str, Weight]:
    weights = layer(f"{block}.attention_norm", f"{source}.input_layernorm", bias=False)
    weights |= layer(f"{block}.feed_forward_norm", f"{source}.post_attention_layernorm", bias=False)
    for name, of in (("query", "q"), ("key", "k"), ("value", "v"), ("out", "o")):
        weights |= layer(
            f"{block}.attention.{name}", f"{source}.self_attn.{of}_proj", bias=fields.attention_bias
        )
    for name in ("gate", "up", "down"):
        weights |= layer(
            f"{block}.feed_forward.{name}", f"{source}.mlp.{name}_proj", bias=fields.mlp_bias
        )
    return weights


@hookimpl
def posexp_families() -> list[FamilySpec]:
    return [
        FamilySpec(
            "llama",
            LlamaFields,
            llama,
            only={"partial_rotary_factor": (None, 1)},
            ignored=frozenset({
                "attention_dropout", "initializer_range", "pretraining_tp", "max_sequence_length",
            }),
            renames=((r"^model\.", ""),),
            ignored_weights=(r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq",),
        )
    ]  # fmt: skip
