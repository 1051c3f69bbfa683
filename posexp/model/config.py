"""The sizes and choices of a transformer, checked when they are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch.nn.functional as F
from torch import Tensor

from posexp.dims import AttentionDims
from posexp.registry import nearest

#: The small number under the root of a norm, where `norm_eps` does not say another.
NORMS = {"layernorm": 1e-5, "rmsnorm": 1e-6}
_GELU_TANH = partial(F.gelu, approximate="tanh")
#: The function, and whether it gates a second projection (Shazeer 2020): f(x W_g) * x W_u.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], bool]] = {
    "gelu": (F.gelu, False),
    "gelu_tanh": (_GELU_TANH, False),
    "relu": (F.relu, False),
    "swiglu": (F.silu, True),
    "geglu": (F.gelu, True),
    "geglu_tanh": (_GELU_TANH, True),
}
RESIDUALS = ("sequential", "parallel", "shared")


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
    d_head: int | None = None
    vocabulary: int | None = None
    qkv_bias: bool = False
    out_bias: bool = False
    feed_forward_bias: bool = False
    head_bias: bool = False
    norm_bias: bool = False
    norm_eps: float | None = None
    embedding_norm: bool = False
    post_norm: bool = False
    residual: str = "sequential"

    def __post_init__(self) -> None:
        for name, valid in (
            ("norm", NORMS),
            ("activation", ACTIVATIONS),
            ("residual", RESIDUALS),
        ):
            value = getattr(self, name)
            if value not in valid:
                raise ValueError(
                    f"model.{name}={value} is unknown{nearest(value, valid)}; "
                    f"valid: {', '.join(valid)}"
                )
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"model.{name} must be in [0, 1), got {getattr(self, name)}")
        if self.norm == "rmsnorm" and self.norm_bias:
            raise ValueError("model.norm_bias=true: RMSNorm has none; use model.norm=layernorm")
        if self.norm_eps is not None and not 0 < self.norm_eps < math.inf:
            raise ValueError(f"model.norm_eps must be positive, got {self.norm_eps}")
        if self.vocabulary is not None and self.vocabulary < 1:
            raise ValueError(f"model.vocabulary must be at least 1, got {self.vocabulary}")

    def dims(self, context_length: int) -> AttentionDims:
        """What a scheme is told."""
        return AttentionDims(
            d_model=self.d_model,
            n_heads=self.n_heads,
            n_layers=self.n_layers,
            context_length=context_length,
            n_kv_heads=self.n_kv_heads,
            causal=self.causal,
            d_head=self.d_head,
        )

    @property
    def feed_forward_width(self) -> int:
        """`d_ff`, or 4 D, and gated 8/3 D rounded up to 64: about equal parameters."""
        if self.d_ff is not None:
            return self.d_ff
        if not ACTIVATIONS[self.activation][1]:
            return 4 * self.d_model
        return 64 * math.ceil(self.d_model * 8 / 3 / 64)

    @property
    def input_scale(self) -> float:
        """`embedding_scale`, or sqrt(D) (Vaswani et al. 2017, section 3.4), for every scheme."""
        return math.sqrt(self.d_model) if self.embedding_scale is None else self.embedding_scale
