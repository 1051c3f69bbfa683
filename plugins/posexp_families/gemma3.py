"""Gemma 3's text model: local layers in a window and global ones, each with a RoPE of its own.

Its RMSNorms multiply by 1 + w, which is made the weight here. Its logits are scaled by 1/sqrt(s),
s the `query_pre_attn_scalar`; where s is not the head's width d, sqrt(d/s) is made part of the norm
of the queries. The library rounds the embeddings' scale sqrt(D) to bfloat16 when the model runs in
bfloat16; here it is exact, as in the library in float32.

Gemma Team 2025, "Gemma 3 Technical Report".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from posexp import FamilySpec, Translation, Weight, hookimpl
from posexp_families._parts import GATED, activation, layer
from posexp_families._rotary import rotary

LOCAL, GLOBAL = "sliding_attention", "full_attention"


@dataclass
class Gemma3Fields:
    """The fields that are translated, with the library's defaults."""

    vocab_size: int = 262_208
    bos_token_id: int | None = 2
    hidden_size: int = 2304
    intermediate_size: int = 9216
    num_hidden_layers: int = 26
    num_attention_heads: int = 8
    num_key_value_heads: int = 4
    head_dim: int = 256
    hidden_activation: str = "gelu_pytorch_tanh"
    max_position_embeddings: int = 131_072
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool = True
    attention_bias: bool = False
    query_pre_attn_scalar: float = 256.0
    sliding_window: int | None = 4096
    sliding_window_pattern: int = 6
    layer_types: Any = None
    rope_theta: float = 1e6
    rope_local_base_freq: float = 1e4
    rope_scaling: Any = None
    rope_parameters: Any = None


def gemma3(fields: Gemma3Fields) -> Translation:
    """Raises `ValueError` for an activation, a layer type or rotary settings posexp has not."""
    scheme, window = _scheme(fields)
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
        "post_norm": True,
        "qk_norm": "before",
        "activation": activation("hidden_activation", fields.hidden_activation, GATED),
        "qkv_bias": fields.attention_bias,
        "out_bias": fields.attention_bias,
        "tie_embeddings": tied,
        "embedding_scale": fields.hidden_size**0.5,
    }
    weights = {
        "embedding.weight": Weight("embed_tokens.weight"),
        "norm.weight": Weight("norm.weight", _from_zero),
    }
    if not tied:
        weights["head.weight"] = Weight("lm_head.weight")
    for i in range(fields.num_hidden_layers):
        weights |= _block(f"blocks.{i}", f"layers.{i}", fields)
    return Translation(
        model=model,
        scheme=scheme,
        context_length=fields.max_position_embeddings,
        bos=fields.bos_token_id,
        weights=weights,
        same={"lm_head.weight": "embed_tokens.weight"} if tied else {},
        window=window,
        notes=(
            f"embeddings are scaled by sqrt({fields.hidden_size}) exactly; the library rounds it "
            "to bfloat16 when it runs in bfloat16",
        ),
    )


def _scheme(fields: Gemma3Fields) -> tuple[dict[str, Any], int | None]:
    """The scheme, and the window of all layers where they are of one kind."""
    types = _layer_types(fields)
    ropes = fields.rope_parameters or {}
    if unknown := sorted(ropes.keys() - {LOCAL, GLOBAL}):
        raise ValueError(f"rope_parameters is for {LOCAL} and {GLOBAL}, not {unknown[0]!r}")
    local = {"rope_theta": fields.rope_local_base_freq, **(ropes.get(LOCAL) or {})}
    far = {"rope_theta": fields.rope_theta, **(ropes.get(GLOBAL) or {})}
    far |= fields.rope_scaling or {}
    longest, window = fields.max_position_embeddings, fields.sliding_window
    if LOCAL in types and window is None:
        raise ValueError(f"layer_types has {LOCAL}, but sliding_window is null")
    if len(set(types)) == 1:
        alone, seen = (local, window) if types[0] == LOCAL else (far, None)
        return rotary(alone, longest, "half"), seen
    kinds = "".join("L" if kind == LOCAL else "G" for kind in types)
    period = next(p for p in range(2, len(kinds) + 1) if (kinds[:p] * len(kinds)).startswith(kinds))
    return {
        "name": "hybrid",
        "pattern": kinds[:period],
        "local_window": window,
        "global_window": None,
        "local": rotary(local, longest, "half"),
        "global_": rotary(far, longest, "half"),
    }, None


def _layer_types(fields: Gemma3Fields) -> list[str]:
    n_layers, every = fields.num_hidden_layers, fields.sliding_window_pattern
    types = fields.layer_types
    if types is None:
        return [GLOBAL if (i + 1) % every == 0 else LOCAL for i in range(n_layers)]
    if len(types) != n_layers or set(types) - {LOCAL, GLOBAL}:
        raise ValueError(
            f"layer_types must be {LOCAL} or {GLOBAL} for each of {n_layers} layers, not {types}"
        )
    return types


def _block(block: str, source: str, fields: Gemma3Fields) -> dict[str, Weight]:
    weights: dict[str, Weight] = {}
    for name, of in (
        ("attention_norm", "input_layernorm"),
        ("attention_post_norm", "post_attention_layernorm"),
        ("feed_forward_norm", "pre_feedforward_layernorm"),
        ("feed_forward_post_norm", "post_feedforward_layernorm"),
        ("attention.norm_before.key", "self_attn.k_norm"),
    ):
        weights |= layer(f"{block}.{name}", f"{source}.{of}", bias=False, make=_from_zero)
    scale = (fields.head_dim / fields.query_pre_attn_scalar) ** 0.5
    weights[f"{block}.attention.norm_before.query.weight"] = Weight(
        f"{source}.self_attn.q_norm.weight", lambda w: _from_zero(w) * scale
    )
    for name, of in (("query", "q"), ("key", "k"), ("value", "v"), ("out", "o")):
        weights |= layer(
            f"{block}.attention.{name}", f"{source}.self_attn.{of}_proj", bias=fields.attention_bias
        )
    for name in ("gate", "up", "down"):
        weights |= layer(f"{block}.feed_forward.{name}", f"{source}.mlp.{name}_proj", bias=False)
    return weights


def _from_zero(w: Tensor) -> Tensor:
    return w.float() + 1.0


@hookimpl
def posexp_families() -> list[FamilySpec]:
    text = {
        "config": Gemma3Fields,
        "build": gemma3,
        "only": {
            "attn_logit_softcapping": (None,),
            "final_logit_softcapping": (None,),
            "use_bidirectional_attention": (None, False),
        },
        "aliases": {"_sliding_window_pattern": "sliding_window_pattern"},
    }
    ignored = frozenset({"attention_dropout", "initializer_range"})
    pictures = frozenset({
        "vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index",
        "image_token_index",
    })  # fmt: skip
    return [
        FamilySpec("gemma3_text", ignored=ignored, renames=((r"^model\.", ""),), **text),
        # With pictures: its text model alone.
        FamilySpec(
            "gemma3",
            ignored=ignored | pictures,
            renames=(
                (r"^model\.language_model\.|^language_model\.model\.", ""),
                (r"^language_model\.lm_head\.", "lm_head."),
            ),
            ignored_weights=(r"(model\.)?(vision_tower|multi_modal_projector)\..*",),
            nested="text_config",
            **text,
        ),
    ]
