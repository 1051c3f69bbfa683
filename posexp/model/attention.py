"""One attention layer: the page that everyone reads. Its relatives are in `latent` and `linear`.

Shapes: B batch, T tokens, D model width, H query heads, G key/value heads, d head width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posexp.dims import AttentionDims
from posexp.model.cache import Memory, bytes_per_token
from posexp.model.config import ModelConfig
from posexp.model.kernels import Kernel
from posexp.model.layer import AttentionLayer
from posexp.model.layout import Layout
from posexp.model.qk_norm import QKNorm
from posexp.scheme import PositionScheme


class Attention(AttentionLayer):
    """Multi-head attention: H query heads on G key/value heads (MHA G = H, MQA G = 1, else GQA).

    The scheme transforms queries and keys; everything else that it does, the kernel carries out.
    With qk_norm=after, only layers whose scheme transforms keys have the norm (as Llama 4).
    """

    def __init__(self, config: ModelConfig, dims: AttentionDims, scheme: PositionScheme) -> None:
        super().__init__()
        self.dims = dims
        self.dropout = config.attention_dropout
        d_q, d_kv = (heads * dims.d_head for heads in (dims.n_heads, dims.n_kv_heads))
        self.query = nn.Linear(dims.d_model, d_q, bias=config.qkv_bias)
        self.key = nn.Linear(dims.d_model, d_kv, bias=config.qkv_bias)
        self.value = nn.Linear(dims.d_model, d_kv, bias=config.qkv_bias)
        self.out = nn.Linear(d_q, dims.d_model, bias=config.out_bias)
        before = config.qk_norm == "before"
        after = config.qk_norm == "after" and "transform_key" in scheme.acts_on
        self.norm_before = QKNorm(dims.d_head, config) if before else None
        self.norm_after = QKNorm(dims.d_head, config) if after else None

    def forward(
        self,
        x: Tensor,
        scheme: PositionScheme,
        layout: Layout,
        kernel: Kernel,
        prepared: object,
        memory: Memory | None = None,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D). `prepared` is what `kernel` made of the scheme and the layout."""
        q, k, v = self.heads(x)
        dropout = self.dropout if self.training else 0.0
        attended = attend(
            q, k, v, scheme, layout, kernel, prepared, dropout, memory, self.norm_after
        )
        return self.merge(attended)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(B, T, D) -> q (B, H, T, d), k and v (B, G, T, d)."""
        q, k, v = (
            projected.unflatten(-1, (-1, self.dims.d_head)).transpose(1, 2)
            for projected in (self.query(x), self.key(x), self.value(x))
        )
        if self.norm_before is not None:
            q, k = self.norm_before.query(q), self.norm_before.key(k)
        return q, k, v

    @classmethod
    def bytes_held(cls, config: ModelConfig, dtype: torch.dtype) -> tuple[int, int]:
        return bytes_per_token(config.dims(context_length=1), dtype), 0

    @classmethod
    def products(cls, config: ModelConfig, length: int, pairs: int) -> int:
        return 2 * config.n_heads * config.head_width * pairs

    @classmethod
    def logit_scale(cls, config: ModelConfig, scheme: PositionScheme) -> float:
        return logit_scale(scheme, config.head_width)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scheme: PositionScheme,
    layout: Layout,
    kernel: Kernel,
    prepared: object,
    dropout: float = 0.0,
    memory: Memory | None = None,
    norm: QKNorm | None = None,
) -> Tensor:
    """Projected q (B, H, T, d), k and v (B, G, S, d) -> (B, H, T, d), as one layer's scheme says.

    With a `memory`, k and v are those of the new tokens alone, and the layout has all keys. A
    `norm` stands behind the scheme's transforms, and the scale of the logits behind the norm.
    """

    def transform_key(k: Tensor, positions: Tensor) -> Tensor:
        k = scheme.transform_key(k, positions)
        return k if norm is None else norm.key(k)

    # Autocast would round a scheme's float32 angles and biases to bfloat16: an ALiBi bias of
    # -2047 and one of -2040 become equal. So it ends where positions begin.
    with torch.autocast(q.device.type, enabled=False):
        scale = logit_scale(scheme, q.shape[-1])
        if norm is None:
            q = scheme.transform_query(q * scale, layout.q_positions)
        else:
            q = norm.query(scheme.transform_query(q, layout.q_positions)) * scale
        if memory is None:
            k = transform_key(k, layout.k_positions)
        else:
            k, v = memory.extend(k, v, scheme, layout, transform_key)
        return kernel.attend(q, k, v, prepared, dropout)


def logit_scale(scheme: PositionScheme, d_head: int) -> float:
    """The factor on queries: the scheme's own, or 1/sqrt(d)."""
    return d_head**-0.5 if scheme.logit_scale is None else scheme.logit_scale
