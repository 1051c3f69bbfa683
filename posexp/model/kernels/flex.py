"""FlexAttention: the GPU's path for biases by distance, windows, padding and packed documents.

On a GPU, PyTorch compiles the attention kernel together with a function that changes one score and
one that says whether a pair is visible, and skips blocks in which nothing is. Its backward pass
does not exist on CPUs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from posexp.model.kernels.kernel import BEFORE_ATTENTION, unhonoured
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme

# torch's module is imported at first use: it brings the compiler, a second of every command.
if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask


@dataclass(frozen=True)
class Mods:
    """What is added to a score, or None, and which blocks of pairs are visible."""

    score: Callable[..., Tensor] | None
    blocks: BlockMask | None


class FlexKernel:
    """softmax(q k^T + u(i - j)) v over the visible pairs, compiled for the GPU at first use."""

    name = "flex"
    honours = BEFORE_ATTENTION | {"window", "distance_slopes", "distance_bias"}

    def refusal(self, scheme: PositionScheme, causal: bool, dropout: float) -> str | None:
        if not torch.cuda.is_available():
            return "flex trains on GPUs only, and there is none"
        return unhonoured(self, scheme, dropout)

    def accepts(self, layout: Layout) -> bool:
        return layout.consecutive and layout.k_positions.device.type == "cuda"

    def prepare(self, scheme: PositionScheme, layout: Layout) -> Mods:
        n_queries, n_keys = layout.q_positions.shape[-1], layout.k_positions.shape[-1]
        offset = n_keys - layout.keys_after - n_queries  # the key that stands at query 0
        device = layout.k_positions.device
        return Mods(
            score_mod(scheme, offset, n_queries, n_keys, device),
            block_mask(scheme, layout, offset, device),
        )

    def attend(self, q: Tensor, k: Tensor, v: Tensor, prepared: Mods, dropout: float) -> Tensor:
        # After eight recompilations dynamo would go on with a dense path, more than ten times
        # slower, and only warn.
        with torch._dynamo.config.patch(fail_on_recompile_limit_hit=True):
            return compiled()(
                q,
                k,
                v,
                score_mod=prepared.score,
                block_mask=prepared.blocks,
                scale=1.0,
                enable_gqa=k.shape[1] < q.shape[1],
            )


@cache
def compiled() -> Callable[..., Tensor]:
    """Compiled once for lengths that change: a new length is no new kernel."""
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention, dynamic=True)


def score_mod(
    scheme: PositionScheme, offset: int, n_queries: int, n_keys: int, device: torch.device
) -> Callable[..., Tensor] | None:
    """score -> score + u(n), with u looked up in a table over every distance; None without one."""
    least = offset - n_keys + 1
    n = torch.arange(least, offset + n_queries, device=device)
    table = scheme.distance_bias(n)
    if table is None:
        return None

    def add(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return score + table[h, q + offset - k - least]

    return add


def block_mask(
    scheme: PositionScheme, layout: Layout, offset: int, device: torch.device
) -> BlockMask | None:
    """Causality, window, documents and padding; None where every pair is visible."""
    from torch.nn.attention.flex_attention import create_block_mask

    window, real, documents = scheme.window, layout.real_keys, layout.q_documents

    def visible(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        n = q + offset - k
        seen = n >= 0 if layout.causal else n == n
        if window is not None:
            seen = seen & (n.abs() < window)
        if documents is not None:
            seen = seen & (documents[b, q] == layout.k_documents[b, k])
        if real is not None:
            seen = seen & real[b, k]
        return seen

    if not layout.causal and window is None and not layout.needs_rows:
        return None
    rows = len(real if real is not None else documents) if layout.needs_rows else None
    lengths = layout.q_positions.shape[-1], layout.k_positions.shape[-1]
    return create_block_mask(visible, rows, None, *lengths, device=device)
