"""GPT-J: interleaved RoPE on part of a head, one norm before attention and feed-forward.

Wang and Komatsuzaki 2021, "GPT-J-6B: A 6 Billion Parameter Autoregressive Language Model".
"""

from __future__ import annotations

from dataclasses import dataclass

from posexp import FamilySpec, Translation, Weight, hookimpl
from posexp_families._parts import PLAIN, activation, layer


@dataclass
class GptjFields:
    """The fields that are translated, with the library's defaults."""

    vocab_size: int = 50400
    bos_token_id: int | None = 50256
    n_positions: int = 2048
    n_embd: int = 4096
    n_layer: int = 28
    n_head: int = 16
    rotary_dim: int = 64
    n_inner: int | None = None
    activation_function: str = "gelu_new"
    layer_norm_epsilon: float = 1e-5
    tie_word_embeddings: bool = False


def gptj(fields: GptjFields) -> Translation:
    """Raises `ValueError` for an activation that posexp has not."""
    tied = fields.tie_word_embeddings
    model = {
        "n_layers": fields.n_layer,
        "d_model": fields.n_embd,
        "n_heads": fields.n_head,
        "d_ff": 4 * fields.n_embd if fields.n_inner is None else fields.n_inner,
        "vocabulary": fields.vocab_size,
        "norm_eps": fields.layer_norm_epsilon,
        "activation": activation("activation_function", fields.activation_function, PLAIN),
        "residual": "shared",
        "feed_forward_bias": True,
        "norm_bias": True,
        "head_bias": True,
        "tie_embeddings": tied,
        "embedding_scale": 1.0,
    }
    weights = {
        "embedding.weight": Weight("wte.weight"),
        "head_bias": Weight("lm_head.bias"),
        **layer("norm", "ln_f", bias=True),
    }
    if not tied:
        weights["head.weight"] = Weight("lm_head.weight")
    for i in range(fields.n_layer):
        weights |= _block(f"blocks.{i}", f"h.{i}")
    return Translation(
        model=model,
        scheme={
            "name": "rope",
            "layout": "interleaved",
            "fraction": fields.rotary_dim * fields.n_head / fields.n_embd,
        },
        context_length=fields.n_positions,
        bos=fields.bos_token_id,
        weights=weights,
        same={"lm_head.weight": "wte.weight"} if tied else {},
    )


def _block(block: str, source: str) -> dict[str, Weight]:
    weights = layer(f"{block}.attention_norm", f"{source}.ln_1", bias=True)
    for name, of in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj")):
        weights |= layer(f"{block}.attention.{name}", f"{source}.attn.{of}", bias=False)
    return weights | {
        **layer(f"{block}.attention.out", f"{source}.attn.out_proj", bias=False),
        **layer(f"{block}.feed_forward.up", f"{source}.mlp.fc_in", bias=True),
        **layer(f"{block}.feed_forward.down", f"{source}.mlp.fc_out", bias=True),
    }


@hookimpl
def posexp_families() -> list[FamilySpec]:
    return [
        FamilySpec(
            "gptj",
            GptjFields,
            gptj,
            only={"rotary": (True,), "scale_attn_weights": (True,)},
            ignored=frozenset({
                "attn_pdrop", "embd_pdrop", "resid_pdrop", "initializer_range",
                "gradient_checkpointing", "summary_activation", "summary_first_dropout",
                "summary_proj_to_labels", "summary_type", "summary_use_proj",
            }),
            aliases={
                "hidden_size": "n_embd",
                "max_position_embeddings": "n_positions",
                "num_attention_heads": "n_head",
                "num_hidden_layers": "n_layer",
            },
            renames=((r"^transformer\.", ""),),
            ignored_weights=(r"h\.\d+\.attn\.(bias|masked_bias)",),
        )
    ]  # fmt: skip
