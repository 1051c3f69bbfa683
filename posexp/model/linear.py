"""Linear attention, with rotary positions as RoFormer has them.

    out_i = sum_j (T_i phi(q_i) . T_j phi(k_j)) v_j / sum_j phi(q_i) . phi(k_j),   phi = elu + 1

T_i is the scheme's transform at position i (RoPE: a rotation). It comes after phi and in the
numerator alone: what is turned may be negative, and the denominator stays positive. So the weights
need not be positive nor add up to 1, as the paper says. There are no logits: no scale on them, no
bias, no mask, no window. Only functions of single positions reach linear attention.

A cache holds two sums over all tokens so far, whatever their number; see `chunkwise`.

Shapes: B batch, T tokens, D model width, H query heads, G key/value heads, d head width.

Su et al. 2021, "RoFormer", equation 19; Katharopoulos et al. 2020, "Transformers are RNNs".
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model.attention import Attention
from posexp.model.cache import Memory
from posexp.model.chunkwise import Chunk, Heads, Sums, attend, chunks
from posexp.model.config import ModelConfig
from posexp.model.kernels import IllegalKernelError, Kernel
from posexp.model.kernels.kernel import BEFORE_ATTENTION, exact
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme


class SumsMemory(Memory):
    """What a layer keeps of the tokens before: sums over them. No token is held by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.held: Sums | None = None
        self.grown: Sums | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self.held is None else self.held.products.nbytes + self.held.keys.nbytes

    def commit(self) -> None:
        self.held = self.grown


class Chunkwise:
    """Stands where softmax attention chooses a kernel: its name is recorded, and it cuts up."""

    name = "linear"
    honours = BEFORE_ATTENTION

    def accepts(self, layout: Layout) -> bool:
        return True

    def prepare(self, scheme: PositionScheme, layout: Layout) -> list[Chunk]:
        return chunks(layout)


class LinearAttention(Attention):
    """The projections of softmax attention, and between them phi, sums and their quotient."""

    sums = True

    def forward(
        self,
        x: Tensor,
        scheme: PositionScheme,
        layout: Layout,
        kernel: Kernel,
        prepared: list[Chunk],
        memory: SumsMemory | None = None,
    ) -> Tensor:
        q, k, v = self.heads(x)
        with torch.autocast(x.device.type, enabled=False):
            before = None if memory is None else memory.held
            heads = transformed(q, k, v, scheme, layout)
            out, sums = attend(heads, prepared, layout.causal, before)
        if memory is not None:
            memory.grown = sums
        return self.merge(out.flatten(1, 2).to(v.dtype))

    @classmethod
    def refusal(cls, config: ModelConfig, scheme: PositionScheme) -> str | None:
        if config.qk_norm == "after":
            return (
                "model.qk_norm=after norms what the scheme turned, which here is the numerator "
                "alone (model.qk_norm=before is legal)"
            )
        if methods := sorted(scheme.acts_on - BEFORE_ATTENTION):
            return (
                f"it acts on {', '.join(methods)}, and linear attention forms no score of a query "
                f"and a key: only {', '.join(sorted(BEFORE_ATTENTION))} reach it"
            )
        if scheme.logit_scale is not None:
            return (
                f"its logit_scale={scheme.logit_scale:g} is a factor on logits, and there are none"
            )
        return None

    @classmethod
    def legal_kernels(cls, config: ModelConfig, scheme: PositionScheme) -> list[Kernel]:
        if config.kernel != "auto":
            raise IllegalKernelError(
                f"model.kernel={config.kernel} computes a softmax, and model.attention=linear has "
                "none; use model.kernel=auto"
            )
        if config.attention_dropout:
            raise IllegalKernelError(
                f"model.attention_dropout={config.attention_dropout} drops attention weights, and "
                "model.attention=linear forms none; use model.attention_dropout=0"
            )
        return [Chunkwise()]

    @classmethod
    def new_memory(cls) -> SumsMemory:
        return SumsMemory()

    @classmethod
    def bytes_held(cls, config: ModelConfig, dtype: torch.dtype) -> tuple[int, int]:
        heads, d = config.dims(context_length=1).n_kv_heads, config.head_width
        return 0, heads * (d * d + d) * torch.promote_types(dtype, torch.float32).itemsize

    @classmethod
    def products(cls, config: ModelConfig, length: int, pairs: int) -> int:
        heads = config.n_heads + config.dims(context_length=1).n_kv_heads
        return heads * config.head_width**2 * length

    @classmethod
    def logit_scale(cls, config: ModelConfig, scheme: PositionScheme) -> None:
        return None


def phi(x: Tensor) -> Tensor:
    """elu(x) + 1, as exp(x) below 0: elu itself is -1 in float32 from -17.4 on, and the sum 0."""
    return F.relu(x) + x.clamp(max=0).exp()


def transformed(q: Tensor, k: Tensor, v: Tensor, scheme: PositionScheme, layout: Layout) -> Heads:
    """phi, then the scheme, on projected q (B, H, T, d), k and v (B, G, T, d); padding is 0."""
    dtype, grouped = exact(q), (k.shape[1], -1)
    q, k = (phi(x.to(dtype)) for x in (q, k))
    turned_q = scheme.transform_query(q, layout.q_positions)
    turned_k = scheme.transform_key(k, layout.k_positions)
    if layout.real_keys is not None:
        padding = ~layout.real_keys[:, None, :, None]
        k, turned_k = k.masked_fill(padding, 0), turned_k.masked_fill(padding, 0)
    q, turned_q = q.unflatten(1, grouped), turned_q.unflatten(1, grouped)
    return Heads(q, k, v.to(dtype), turned_q, turned_k)
