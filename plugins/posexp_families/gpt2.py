"""GPT-2: learned positions, LayerNorm with biases, GELU in its tanh form, tied embeddings.

Its projections are stored as (in, out), the transpose of a linear layer's. Where the scale of the
logits is not 1/sqrt(d), the difference is made part of the queries.

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from posexp import FamilySpec, Translation, Weight, hookimpl
from posexp_families._parts import PLAIN, activation, layer


@dataclass
class Gpt2Fields:
    """The fields that are translated, with the library's defaults."""

    vocab_size: int = 50257
    bos_token_id: int | None = 50256
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    n_inner: int | None = None
    activation_function: str = "gelu_new"
    layer_norm_epsilon: float = 1e-5
    scale_attn_weights: bool = True
    scale_attn_by_inverse_layer_idx: bool = False
    tie_word_embeddings: bool = True


def gpt2(fields: Gpt2Fields) -> Translation:
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
        "qkv_bias": True,
        "out_bias": True,
        "feed_forward_bias": True,
        "norm_bias": True,
        "tie_embeddings": tied,
        "embedding_scale": 1.0,
    }
    weights = {
        "embedding.weight": Weight("wte.weight"),
        "scheme.table": Weight("wpe.weight"),
        **layer("norm", "ln_f", bias=True),
    }
    if not tied:
        weights["head.weight"] = Weight("lm_head.weight")
    for i in range(fields.n_layer):
        weights |= _block(i, fields)
    return Translation(
        model=model,
        scheme={"name": "learned", "max_length": fields.n_positions},
        context_length=fields.n_positions,
        bos=fields.bos_token_id,
        weights=weights,
        same={"lm_head.weight": "wte.weight"} if tied else {},
    )


def _block(i: int, fields: Gpt2Fields) -> dict[str, Weight]:
    block, source = f"blocks.{i}", f"h.{i}"
    weights = {
        **layer(f"{block}.attention_norm", f"{source}.ln_1", bias=True),
        **layer(f"{block}.feed_forward_norm", f"{source}.ln_2", bias=True),
        **layer(f"{block}.attention.out", f"{source}.attn.c_proj", bias=True, make=_transposed),
        **layer(f"{block}.feed_forward.up", f"{source}.mlp.c_fc", bias=True, make=_transposed),
        **layer(f"{block}.feed_forward.down", f"{source}.mlp.c_proj", bias=True, make=_transposed),
    }
    scale = 1.0 if fields.scale_attn_weights else (fields.n_embd // fields.n_head) ** 0.5
    if fields.scale_attn_by_inverse_layer_idx:
        scale /= i + 1
    for which, name in enumerate(("query", "key", "value")):
        make = _third(which, scale if name == "query" else 1.0)
        weights |= layer(f"{block}.attention.{name}", f"{source}.attn.c_attn", bias=True, make=make)
    return weights


def _transposed(x: Tensor) -> Tensor:
    return x.mT if x.ndim == 2 else x


def _third(which: int, scale: float) -> Callable[[Tensor], Tensor]:
    """Of (D, 3 D), or of a bias (3 D,): the columns of all queries, then keys, then values."""

    def take(x: Tensor) -> Tensor:
        part = _transposed(x).chunk(3)[which]
        return part if scale == 1.0 else part.float() * scale

    return take


@hookimpl
def posexp_families() -> list[FamilySpec]:
    return [
        FamilySpec(
            "gpt2",
            Gpt2Fields,
            gpt2,
            ignored=frozenset({
                "attn_pdrop", "embd_pdrop", "resid_pdrop", "initializer_range",
                "reorder_and_upcast_attn", "summary_activation", "summary_first_dropout",
                "summary_proj_to_labels", "summary_type", "summary_use_proj", "n_ctx",
                "gradient_checkpointing",
            }),
            aliases={
                "hidden_size": "n_embd",
                "max_position_embeddings": "n_positions",
                "num_attention_heads": "n_head",
                "num_hidden_layers": "n_layer",
            },
            renames=((r"^transformer\.", ""),),
            # The causal mask, which old versions kept as if it were a weight.
            ignored_weights=(r"h\.\d+\.attn\.(bias|masked_bias)",),
        )
    ]  # fmt: skip
