"""Attention alone, forward and backward, through the function that the model itself uses.

Shapes: B rows, L tokens, D model width, H query heads, G key/value heads, d head width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.bench.timing import Call
from posexp.dims import AttentionDims
from posexp.model import Transformer
from posexp.model.attention import attend
from posexp.model.kernels import kernel_for
from posexp.model.layout import Layout
from posexp.model.transformer import remapped


@dataclass(frozen=True)
class Inputs:
    """What the projections would give, and the gradient that comes back: (B, L, heads * d)."""

    q: Tensor
    k: Tensor
    v: Tensor
    upstream: Tensor

    @classmethod
    def random(
        cls, dims: AttentionDims, batch: int, length: int, dtype: torch.dtype, device: str
    ) -> Inputs:
        """Standard normal, with gradients. Keys and values are G heads wide."""
        generator = torch.Generator().manual_seed(0)
        narrow = dims.n_kv_heads * dims.d_head

        def draw(width: int) -> Tensor:
            drawn = torch.randn(batch, length, width, generator=generator)
            return drawn.to(device, dtype).requires_grad_()

        upstream = draw(dims.d_model).detach()
        return cls(draw(dims.d_model), draw(narrow), draw(narrow), upstream)

    def heads(self, dims: AttentionDims) -> list[Tensor]:
        """q (B, H, L, d), k and v (B, G, L, d), as views, which is how the model splits them."""
        return [x.unflatten(-1, (-1, dims.d_head)).transpose(1, 2) for x in self.leaves]

    @property
    def leaves(self) -> list[Tensor]:
        """The tensors that want a gradient."""
        return [self.q, self.k, self.v]


def attention_call(model: Transformer, layer: int, inputs: Inputs) -> Call:
    """One layer's attention with its scheme: gradients for q, k, v and the scheme's parameters.

    Raises `ValueError` for a model whose attention is more than that of projected heads.
    """
    if model.config.attention != "softmax" or model.config.qk_norm != "none":
        raise ValueError(
            "attention alone is that of heads as projected, by softmax and without QK-norm, and "
            f"this model has attention={model.config.attention} and "
            f"qk_norm={model.config.qk_norm}: measure --parts step,decode"
        )
    scheme = model.scheme.for_layer(layer)
    leaves = [*inputs.leaves, *(p for p in scheme.parameters() if p.requires_grad)]
    tokens = inputs.q[..., 0]  # nothing is read from it but its shape

    def call() -> object:
        layout = remapped(Layout.of_tokens(tokens, causal=model.config.causal), model.scheme)
        kernel = kernel_for(layout, model.legal_kernels[layer])
        prepared = kernel.prepare(scheme, layout)
        out = attend(*inputs.heads(model.dims), scheme, layout, kernel, prepared)
        return gradients(out, leaves, inputs)

    return call


def fused_causal_call(dims: AttentionDims, inputs: Inputs) -> Call:
    """The floor: PyTorch's fused causal attention on the same heads, and nothing else."""
    gqa = dims.n_kv_heads < dims.n_heads

    def call() -> object:
        q, k, v = inputs.heads(dims)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=gqa)
        return gradients(out, inputs.leaves, inputs)

    return call


def gradients(out: Tensor, leaves: list[Tensor], inputs: Inputs) -> object:
    """Backward from (B, H, L, d) as the output projection would start it."""
    out = out.transpose(1, 2).flatten(-2)
    return torch.autograd.grad(out, leaves, inputs.upstream, allow_unused=True)
