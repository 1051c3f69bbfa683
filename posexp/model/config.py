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
ATTENTIONS = ("softmax", "latent", "linear")
QK_NORMS = ("none", "before", "after")


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
    attention: str = "softmax"
    latent_width: int | None = None
    query_latent_width: int | None = None
    rotary_width: int | None = None
    qk_norm: str = "none"
    qk_norm_affine: bool = True

    def __post_init__(self) -> None:
        for name, valid in (
            ("norm", NORMS),
            ("activation", ACTIVATIONS),
            ("residual", RESIDUALS),
            ("attention", ATTENTIONS),
            ("qk_norm", QK_NORMS),
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
        if self.qk_norm == "none" and not self.qk_norm_affine:
            raise ValueError("model.qk_norm_affine=false needs model.qk_norm=before or after")
        self._check_latent()

    def _check_latent(self) -> None:
        for name in ("latent_width", "query_latent_width", "rotary_width"):
            value = getattr(self, name)
            if value is not None and self.attention != "latent":
                raise ValueError(f"model.{name}={value} goes with model.attention=latent only")
            if value is not None and value < 1:
                raise ValueError(f"model.{name} must be at least 1, got {value}")
        if self.attention == "latent" and self.n_kv_heads is not None:
            raise ValueError(
                f"model.n_kv_heads={self.n_kv_heads} does not go with model.attention=latent, "
                "where every head has keys and values made of one latent; leave it null"
            )

    def dims(self, context_length: int) -> AttentionDims:
        """What a scheme is told; with latent attention it acts on the rotary part of a head."""
        latent = self.attention == "latent"
        return AttentionDims(
            d_model=self.d_model,
            n_heads=self.n_heads,
            n_layers=self.n_layers,
            context_length=context_length,
            n_kv_heads=1 if latent else self.n_kv_heads,
            causal=self.causal,
            d_head=self.shared_key_width if latent else self.d_head,
        )

    @property
    def head_width(self) -> int:
        """`d_head`, or D / H. Raises `ValueError` where it does not divide."""
        return AttentionDims(self.d_model, self.n_heads, d_head=self.d_head).d_head

    @property
    def kv_latent_width(self) -> int:
        """`latent_width`, or 4 d (DeepSeek-V2, section 2.1.4)."""
        return self.latent_width or 4 * self.head_width

    @property
    def shared_key_width(self) -> int:
        """`rotary_width`, or d / 2 (DeepSeek-V2) rounded down to an even number from 2 on."""
        return self.rotary_width or 2 * max(1, self.head_width // 4)

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
