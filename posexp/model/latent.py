"""Multi-head latent attention (MLA): keys and values of all heads are made of one narrow latent.

    c_t = norm(W_c x_t)             the latent, (c,)
    r_t = W_r x_t                   one key for all heads, (r,), and all that the scheme transforms
    k_t = [W_k c_t | R_t r_t]       of each head, n + r wide
    v_t = W_v c_t                   of each head, n wide
    q_t = [a_t | R_t b_t]           of each head; made of x_t, or of a latent norm(W_q x_t) of it

A cache holds c_t and R_t r_t alone: c + r numbers of a token. Decoding need not make the keys of
each head again: a . (W_k c) = (W_k^T a) . c, and sum_t p_t W_v c_t = W_v sum_t p_t c_t. This
absorbed form is attention of H query heads, c + r wide, to one key head. It is why position acts on
a part of its own: a rotation between W_k^T and a would differ from token to token.

Shapes: B batch, T tokens, S keys, D model width, H heads, n width of a head's part without the
scheme (the paper's d_h), r `rotary_width` (d_h^R), c `latent_width` (d_c).

DeepSeek-AI 2024, "DeepSeek-V2", section 2.1.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from posexp.dims import AttentionDims
from posexp.model.attention import logit_scale
from posexp.model.cache import Memory
from posexp.model.config import ModelConfig
from posexp.model.kernels import Kernel
from posexp.model.layer import AttentionLayer
from posexp.model.layout import Layout
from posexp.model.qk_norm import HeadNorm
from posexp.scheme import PositionScheme

#: What is handed keys, values or outputs of each head.
REFUSED = frozenset({"distance_keys", "distance_values", "adjust_scores", "adjust_output"})


class LatentAttention(AttentionLayer):
    """MLA. The scheme is built for heads r wide on one key head, and transforms those alone."""

    def __init__(self, config: ModelConfig, dims: AttentionDims, scheme: PositionScheme) -> None:
        super().__init__()
        self.dims = dims
        self.dropout = config.attention_dropout
        self.width = config.head_width
        heads, bias = dims.n_heads * self.width, config.qkv_bias
        latent, q_latent = config.kv_latent_width, config.query_latent_width
        self.query_latent = self.query_norm = None
        if q_latent is not None:
            self.query_latent = nn.Linear(dims.d_model, q_latent, bias=bias)
            self.query_norm = HeadNorm(q_latent, config)
        self.query = nn.Linear(
            q_latent or dims.d_model,
            dims.n_heads * (self.width + dims.d_head),
            bias=bias and q_latent is None,
        )
        self.latent = nn.Linear(dims.d_model, latent, bias=bias)
        self.latent_norm = HeadNorm(latent, config)
        self.shared_key = nn.Linear(dims.d_model, dims.d_head, bias=bias)
        self.key = nn.Linear(latent, heads, bias=False)
        self.value = nn.Linear(latent, heads, bias=False)
        self.out = nn.Linear(heads, dims.d_model, bias=config.out_bias)

    def forward(
        self,
        x: Tensor,
        scheme: PositionScheme,
        layout: Layout,
        kernel: Kernel,
        prepared: object,
        memory: Memory | None = None,
    ) -> Tensor:
        """(B, T, D) -> (B, T, D), in the expanded or the absorbed form."""
        q = self.query(x if self.query_latent is None else self.query_norm(self.query_latent(x)))
        q = q.unflatten(-1, (self.dims.n_heads, -1)).transpose(1, 2)  # (B, H, T, n + r)
        latent = self.latent_norm(self.latent(x))[:, None]  # (B, 1, T, c)
        shared = self.shared_key(x)[:, None]  # (B, 1, T, r)
        with torch.autocast(x.device.type, enabled=False):
            q = q * logit_scale(scheme, q.shape[-1])
            plain, turned = q.split((self.width, self.dims.d_head), dim=-1)
            turned = scheme.transform_query(turned, layout.q_positions)
            if memory is None:
                shared = scheme.transform_key(shared, layout.k_positions)
            else:
                shared, latent = memory.extend(shared, latent, scheme, layout, scheme.transform_key)
        form = self.expanded
        if memory is not None and self.absorbing_pays(q.shape[2], latent.shape[2]):
            form = self.absorbed
        return self.merge(form(plain, turned, shared, latent, kernel, prepared))

    def absorbing_pays(self, n_queries: int, n_keys: int) -> bool:
        """Whether the absorbed form multiplies less, in a head."""
        latent, n, r = self.key.in_features, self.width, self.dims.d_head
        pairs = n_queries * n_keys
        return pairs * (2 * latent + r) + n_queries * 2 * n * latent < (
            pairs * (2 * n + r) + n_keys * 2 * n * latent
        )

    def expanded(
        self,
        plain: Tensor,
        turned: Tensor,
        shared: Tensor,
        latent: Tensor,
        kernel: Kernel,
        prepared: object,
    ) -> Tensor:
        """Keys and values of each head: q (B, H, T, n + r) in two -> (B, H, T, n)."""
        k, v = (
            made.unflatten(-1, (self.dims.n_heads, -1)).transpose(1, 2)  # (B, H, S, n)
            for made in (self.key(latent[:, 0]), self.value(latent[:, 0]))
        )
        k = torch.cat((k, shared.to(k.dtype).expand(-1, self.dims.n_heads, -1, -1)), dim=-1)
        # Fused kernels want one width of q, k and v.
        v = F.pad(v, (0, self.dims.d_head))
        q = torch.cat((plain, turned), dim=-1)
        return self.attend(q, k, v, kernel, prepared)[..., : self.width]

    def absorbed(
        self,
        plain: Tensor,
        turned: Tensor,
        shared: Tensor,
        latent: Tensor,
        kernel: Kernel,
        prepared: object,
    ) -> Tensor:
        """The same from the latents themselves: W_k goes to the queries, W_v to the outputs."""
        key, value = (
            made.weight.unflatten(0, (self.dims.n_heads, -1)) for made in (self.key, self.value)
        )  # (H, n, c)
        q = torch.cat((plain @ key, turned), dim=-1)
        k = torch.cat((latent, shared), dim=-1)  # (B, 1, S, c + r); its first c are the values too
        out = self.attend(q, k, k, kernel, prepared)[..., : latent.shape[-1]]
        return out @ value.mT

    def attend(self, q: Tensor, k: Tensor, v: Tensor, kernel: Kernel, prepared: object) -> Tensor:
        """The kernel, on heads of one dtype and without autocast."""
        with torch.autocast(q.device.type, enabled=False):
            dropout = self.dropout if self.training else 0.0
            return kernel.attend(q, k.to(q.dtype), v.to(q.dtype), prepared, dropout)

    @classmethod
    def refusal(cls, config: ModelConfig, scheme: PositionScheme) -> str | None:
        if config.qk_norm != "none":
            return (
                f"model.qk_norm={config.qk_norm} norms the keys of each head, which decoding from "
                "latents never makes; the latents have norms of their own"
            )
        if methods := sorted(scheme.acts_on & REFUSED):
            return (
                f"it acts on {', '.join(methods)}, where keys, values or outputs of each head are "
                "asked for, and decoding from latents never makes them"
            )
        return None

    @classmethod
    def bytes_held(cls, config: ModelConfig, dtype: torch.dtype) -> tuple[int, int]:
        return (config.kv_latent_width + config.shared_key_width) * dtype.itemsize, 0

    @classmethod
    def products(cls, config: ModelConfig, length: int, pairs: int) -> int:
        return config.n_heads * (2 * config.head_width + config.shared_key_width) * pairs

    @classmethod
    def logit_scale(cls, config: ModelConfig, scheme: PositionScheme) -> float:
        return logit_scale(scheme, config.head_width + config.shared_key_width)
