"""GPT-NeoX, Pythia: partial RoPE in the half layout, attention and feed-forward in parallel.

The fused projection goes head by head: the queries, keys and values of the first head, of the next.

Black et al. 2022, "GPT-NeoX-20B: An Open-Source Autoregressive Language Model".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from posexp import FamilySpec, Translation, Weight, hookimpl
from posexp_families._parts import PLAIN, activation, fused, layer
from posexp_families._rotary import rotary


@dataclass
class GptNeoxFields:
    """The fields that are translated, with the library's defaults."""

    vocab_size: int = 50432
    bos_token_id: int | None = 0
    hidden_size: int = 6144
    num_hidden_layers: int = 44
    num_attention_heads: int = 64
    intermediate_size: int = 24576
    hidden_act: str = "gelu"
    max_position_embeddings: int = 2048
    layer_norm_eps: float = 1e-5
    tie_word_embeddings: bool = False
    use_parallel_residual: bool = True
    attention_bias: bool = True
    rotary_emb_base: float = 10000.0
    rotary_pct: float = 0.25
    rope_scaling: Any = None
    rope_parameters: Any = None


def gpt_neox(fields: GptNeoxFields) -> Translation:
    """Raises `ValueError` for an activation or rotary settings that posexp has not."""
    rope = {
        "rope_theta": fields.rotary_emb_base,
        "partial_rotary_factor": fields.rotary_pct,
        **(fields.rope_scaling or fields.rope_parameters or {}),
    }
    tied = fields.tie_word_embeddings
    model = {
        "n_layers": fields.num_hidden_layers,
        "d_model": fields.hidden_size,
        "n_heads": fields.num_attention_heads,
        "d_ff": fields.intermediate_size,
        "vocabulary": fields.vocab_size,
        "norm_eps": fields.layer_norm_eps,
        "activation": activation("hidden_act", fields.hidden_act, PLAIN),
        "residual": "parallel" if fields.use_parallel_residual else "sequential",
        "qkv_bias": fields.attention_bias,
        "out_bias": fields.attention_bias,
        "feed_forward_bias": True,
        "norm_bias": True,
        "tie_embeddings": tied,
        "embedding_scale": 1.0,
    }
    weights = {
        "embedding.weight": Weight("embed_in.weight"),
        **layer("norm", "final_layer_norm", bias=True),
    }
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
        same={"lm_head.weight": "embed_in.weight"} if tied else {},
    )


def _block(block: str, source: str, fields: GptNeoxFields) -> dict[str, Weight]:
    attention, bias = f"{source}.attention", fields.attention_bias
    return {
        **layer(f"{block}.attention_norm", f"{source}.input_layernorm", bias=True),
        **layer(f"{block}.feed_forward_norm", f"{source}.post_attention_layernorm", bias=True),
        **fused(block, f"{attention}.query_key_value", fields.num_attention_heads, bias=bias),
        **layer(f"{block}.attention.out", f"{attention}.dense", bias=bias),
        **layer(f"{block}.feed_forward.up", f"{source}.mlp.dense_h_to_4h", bias=True),
        **layer(f"{block}.feed_forward.down", f"{source}.mlp.dense_4h_to_h", bias=True),
    }


@hookimpl
def posexp_families() -> list[FamilySpec]:
    return [
        FamilySpec(
            "gpt_neox",
            GptNeoxFields,
            gpt_neox,
            ignored=frozenset({
                "attention_dropout", "hidden_dropout", "classifier_dropout", "initializer_range",
                "attention_probs_dropout_prob", "hidden_dropout_prob",
            }),
            aliases={"partial_rotary_factor": "rotary_pct", "rope_theta": "rotary_emb_base"},
            renames=((r"^gpt_neox\.", ""), (r"^embed_out\.", "lm_head.")),
            ignored_weights=(
                r"layers\.\d+\.attention\.(bias|masked_bias)",
                r"(layers\.\d+\.attention\.)?rotary_emb\.inv_freq",
            ),
        )
    ]  # fmt: skip
