"""The attention of every layer, from `model.attention`: the one place that knows them all."""

from __future__ import annotations

from posexp.dims import AttentionDims
from posexp.model.attention import Attention
from posexp.model.config import ModelConfig
from posexp.model.latent import LatentAttention
from posexp.model.layer import AttentionLayer
from posexp.model.linear import LinearAttention
from posexp.scheme import PositionScheme

KINDS: dict[str, type[AttentionLayer]] = {
    "softmax": Attention,
    "latent": LatentAttention,
    "linear": LinearAttention,
}


class IllegalAttentionError(ValueError):
    """The attention that was asked for cannot compute what the scheme defines."""


def attentions(
    config: ModelConfig, dims: AttentionDims, scheme: PositionScheme
) -> list[AttentionLayer]:
    """One for each layer. Raises `IllegalAttentionError` where it cannot serve the scheme."""
    kind = KINDS[config.attention]
    layers = [scheme.for_layer(i) for i in range(config.n_layers)]
    for layer in layers:
        if reason := kind.refusal(config, layer):
            legal = [n for n, other in KINDS.items() if other.refusal(config, layer) is None]
            raise IllegalAttentionError(
                f"model.attention={config.attention} cannot serve {type(layer).__name__}: "
                f"{reason}; use model.attention={' or '.join(legal)}"
            )
    if config.qk_norm == "after" and not any("transform_key" in s.acts_on for s in layers):
        raise IllegalAttentionError(
            f"model.qk_norm=after norms what a scheme made of the keys, and {type(scheme).__name__}"
            " transforms none (transform_key); use model.qk_norm=before"
        )
    return [kind(config, dims, layer) for layer in layers]
