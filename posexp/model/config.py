"""The sizes and choices of a transformer, checked when they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass

from posexp.dims import AttentionDims
from posexp.registry import nearest

NORMS = ("layernorm", "rmsnorm")
ACTIVATIONS = ("gelu", "swiglu")


@dataclass(frozen=True)
class ModelConfig:
    """What `conf/model/*.yaml` sets. None means derived: see the `derived` properties below.

    Raises `ValueError` for values that cannot work, naming the valid ones.
    """

    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int | None = None
    d_ff: int | None = None
    norm: str = "layernorm"
    activation: str = "gelu"
    causal: bool = True
    tie_embeddings: bool = True
    embedding_scale: float | None = None
    dropout: float = 0.0
    attention_dropout: float = 0.0
    kernel: str = "auto"

    def __post_init__(self) -> None:
        for name, valid in (("norm", NORMS), ("activation", ACTIVATIONS)):
            value = getattr(self, name)
            if value not in valid:
                raise ValueError(
                    f"model.{name}={value} is unknown{nearest(value, valid)}; "
                    f"valid: {', '.join(valid)}"
                )
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"model.{name} must be in [0, 1), got {getattr(self, name)}")

    def dims(self, context_length: int) -> AttentionDims:
        """What a scheme is told."""
        return AttentionDims(
            d_model=self.d_model,
            n_heads=self.n_heads,
            n_layers=self.n_layers,
            context_length=context_length,
            n_kv_heads=self.n_kv_heads,
            causal=self.causal,
        )

    @property
    def feed_forward_width(self) -> int:
        """`d_ff`, or 4 D for GELU and 8/3 D rounded up to 64 for SwiGLU: about equal parameters."""
        if self.d_ff is not None:
            return self.d_ff
        if self.activation == "gelu":
            return 4 * self.d_model
        return 64 * math.ceil(self.d_model * 8 / 3 / 64)

    @property
    def input_scale(self) -> float:
        """`embedding_scale`, or sqrt(D) (Vaswani et al. 2017, section 3.4), for every scheme."""
        return math.sqrt(self.d_model) if self.embedding_scale is None else self.embedding_scale
