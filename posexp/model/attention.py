"""One attention layer: the page that everyone reads.

Shapes: B batch, T tokens, D model width, H query heads, G key/value heads, d head width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posexp.dims import AttentionDims
from posexp.model.cache import Memory
from posexp.model.config import ModelConfig
from posexp.model.kernels import Kernel
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


class Attention(nn.Module):
    """Multi-head attention: H query heads on G key/value heads (MHA G = H, MQA G = 1, else GQA).

    The scheme transforms queries and keys; everything else that it does, the kernel carries out.
    """

    def __init__(self, config: ModelConfig, dims: AttentionDims) -> None:
        super().__init__()
        self.dims = dims
        self.dropout = config.attention_dropout
        d_q, d_kv = (heads * dims.d_head for heads in (dims.n_heads, dims.n_kv_heads))
        self.query = nn.Linear(dims.d_model, d_q, bias=config.qkv_bias)
        self.key = nn.Linear(dims.d_model, d_kv, bias=config.qkv_bias)
        self.value = nn.Linear(dims.d_model, d_kv, bias=config.qkv_bias)
        self.out = nn.Linear(d_q, dims.d_model, bias=config.out_bias)

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
        batch, length, _ = x.shape

        def heads(projected: Tensor) -> Tensor:  # (B, T, heads * d) -> (B, heads, T, d)
            return projected.view(batch, length, -1, self.dims.d_head).transpose(1, 2)

        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        dropout = self.dropout if self.training else 0.0
        attended = attend(q, k, v, scheme, layout, kernel, prepared, dropout, memory)
        return self.out(attended.transpose(1, 2).reshape(batch, length, -1))


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
) -> Tensor:
    """Projected q (B, H, T, d), k and v (B, G, S, d) -> (B, H, T, d), as one layer's scheme says.

    With a `memory`, k and v are those of the new tokens alone, and the layout has all keys.
    """
    # Autocast would round a scheme's float32 angles and biases to bfloat16: an ALiBi bias of
    # -2047 and one of -2040 become equal. So it ends where positions begin.
    with torch.autocast(q.device.type, enabled=False):
        q = q * logit_scale(scheme, q.shape[-1])
        q = scheme.transform_query(q, layout.q_positions)
        if memory is None:
            k = scheme.transform_key(k, layout.k_positions)
        else:
            k, v = memory.extend(k, v, scheme, layout)
        return kernel.attend(q, k, v, prepared, dropout)


def logit_scale(scheme: PositionScheme, d_head: int) -> float:
    """The factor on queries: the scheme's own, or 1/sqrt(d)."""
    return d_head**-0.5 if scheme.logit_scale is None else scheme.logit_scale
