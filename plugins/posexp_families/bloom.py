"""BLOOM: ALiBi, a norm behind the embeddings, and biases everywhere.

The library adds slope x key position, which differs from ALiBi's -slope x distance by a constant of
each query, and so not at all behind the softmax.

BigScience Workshop 2022, "BLOOM: A 176B-Parameter Open-Access Multilingual Language Model".
"""

from __future__ import annotations

from dataclasses import dataclass

from posexp import FamilySpec, Translation, Weight, hookimpl
from posexp_families._parts import fused, layer


@dataclass
class BloomFields:
    """The fields that are translated, with the library's defaults."""

    vocab_size: int = 250880
    bos_token_id: int | None = 1
    hidden_size: int = 64
    n_layer: int = 2
    n_head: int = 8
    layer_norm_epsilon: float = 1e-5
    tie_word_embeddings: bool = True
    seq_length: int = 2048  # which the library does not read: a record of the training


def bloom(fields: BloomFields) -> Translation:
    """Every BLOOM has one translation."""
    tied = fields.tie_word_embeddings
    model = {
        "n_layers": fields.n_layer,
        "d_model": fields.hidden_size,
        "n_heads": fields.n_head,
        "d_ff": 4 * fields.hidden_size,
        "vocabulary": fields.vocab_size,
        "norm_eps": fields.layer_norm_epsilon,
        "activation": "gelu_tanh",
        "embedding_norm": True,
        "qkv_bias": True,
        "out_bias": True,
        "feed_forward_bias": True,
        "norm_bias": True,
        "tie_embeddings": tied,
        "embedding_scale": 1.0,
    }
    weights = {
        "embedding.weight": Weight("word_embeddings.weight"),
        **layer("embedding_norm", "word_embeddings_layernorm", bias=True),
        **layer("norm", "ln_f", bias=True),
    }
    if not tied:
        weights["head.weight"] = Weight("lm_head.weight")
    for i in range(fields.n_layer):
        weights |= _block(f"blocks.{i}", f"h.{i}", fields.n_head)
    return Translation(
        model=model,
        scheme={"name": "alibi"},
        context_length=fields.seq_length,
        bos=fields.bos_token_id,
        weights=weights,
        same={"lm_head.weight": "word_embeddings.weight"} if tied else {},
    )


def _block(block: str, source: str, n_heads: int) -> dict[str, Weight]:
    attention = f"{source}.self_attention"
    return {
        **layer(f"{block}.attention_norm", f"{source}.input_layernorm", bias=True),
        **layer(f"{block}.feed_forward_norm", f"{source}.post_attention_layernorm", bias=True),
        **fused(block, f"{attention}.query_key_value", n_heads, bias=True),
        **layer(f"{block}.attention.out", f"{attention}.dense", bias=True),
        **layer(f"{block}.feed_forward.up", f"{source}.mlp.dense_h_to_4h", bias=True),
        **layer(f"{block}.feed_forward.down", f"{source}.mlp.dense_4h_to_h", bias=True),
    }


@hookimpl
def posexp_families() -> list[FamilySpec]:
    return [
        FamilySpec(
            "bloom",
            BloomFields,
            bloom,
            only={"apply_residual_connection_post_layernorm": (False,)},
            # The slices of pretraining_tp and slow_but_exact are summed to the same product.
            ignored=frozenset({
                "attention_dropout", "hidden_dropout", "initializer_range", "pretraining_tp",
                "slow_but_exact", "attention_softmax_in_fp32", "bias_dropout_fusion",
                "masked_softmax_fusion", "offset_alibi", "skip_bias_add", "skip_bias_add_qkv",
                "n_inner", "unk_token_id",
            }),
            aliases={
                "n_embed": "hidden_size",
                "num_attention_heads": "n_head",
                "num_hidden_layers": "n_layer",
            },
            renames=((r"^transformer\.", ""),),
        )
    ]  # fmt: skip
