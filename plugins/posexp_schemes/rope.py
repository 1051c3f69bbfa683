"""RoPE: queries and keys are rotated by their position, so that their product sees the distance.

    q_i . k_j  ->  (R_i q_i) . (R_j k_j) = q_i . R_(j-i) k_j

R_p rotates pair k of the first r columns by the angle p w_k, w_k = theta^(-2k/r). r is the
`rotary_width` = d_head x `fraction` (the paper rotates all of it; GPT-NeoX a quarter, GPT-J 64
columns), p the position (the paper's m), theta the paper's 10000. Two layouts of a pair that no
checkpoint survives mixing up; they are one another with the columns permuted:

    interleaved   columns (2k, 2k + 1)      the paper, GPT-J, Meta's Llama, Cohere
    half          columns (k, k + r/2)      GPT-NeoX, Hugging Face's Llama, Gemma

There are no parameters and no table: angles are computed in float32 or better at every call.

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class RopeConfig:
    """The base, the columns of a pair, and the part of a head that turns. Raises `ValueError`."""

    theta: float = 10000.0
    layout: str = "interleaved"  # interleaved | half
    fraction: float = 1.0

    def __post_init__(self) -> None:
        if not self.theta > 0:
            raise ValueError(f"rope: theta must be positive, got {self.theta}")
        if self.layout not in ("interleaved", "half"):
            raise ValueError(f"rope: layout is interleaved or half, got {self.layout!r}")
        if not 0 < self.fraction <= 1:
            raise ValueError(f"rope: fraction must be in (0, 1], got {self.fraction}")


class Rope(PositionScheme):
    """Rotate queries and keys. Raises `ValueError` if the rotary width is odd or zero."""

    #: A factor on all that is rotated: context extensions change it, and `frequencies`.
    amplitude: float = 1.0

    def __init__(self, config: RopeConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        # The small term: 49 x (2/49) is 2, whatever floating point makes of it.
        self.rotary_width = int(dims.d_head * config.fraction + 1e-6)
        if self.rotary_width % 2 or self.rotary_width == 0:
            raise ValueError(_odd_width(self.rotary_width, config.fraction, dims.d_head))

    def transform_query(self, q: Tensor, positions: Tensor) -> Tensor:
        """Rotate the queries (B, H, T, d) at `positions`, (T,) or (B, T)."""
        return self.rotate(q, positions)

    def transform_key(self, k: Tensor, positions: Tensor) -> Tensor:
        """Rotate the keys (B, n_kv_heads, S, d) at `positions`, (S,) or (B, S)."""
        return self.rotate(k, positions)

    def frequencies(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """w_k, (r/2,), or (..., 1, 1, r/2) where rows of `positions` (..., T) differ in them."""
        pairs = torch.arange(0, self.rotary_width, 2, device=positions.device, dtype=dtype)
        return self.config.theta ** (-pairs / self.rotary_width)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """R_p x for x (B, heads, T, d) at `positions`, (T,) or (B, T)."""
        width = self.rotary_width
        dtype = torch.promote_types(x.dtype, torch.float32)
        angles = positions[..., None, :, None].to(dtype) * self.frequencies(positions, dtype)
        turned = x[..., :width].to(dtype)
        turn = _turn_interleaved if self.config.layout == "interleaved" else _turn_half
        turned = turn(turned, angles)
        turned = (turned if self.amplitude == 1.0 else turned * self.amplitude).type_as(x)
        return turned if width == x.shape[-1] else torch.cat((turned, x[..., width:]), dim=-1)


def _turn_interleaved(x: Tensor, angles: Tensor) -> Tensor:
    pairs = x.unflatten(-1, (-1, 2))
    # On a CPU one complex product takes half the time of four real ones. A compiler fuses the real
    # ones only.
    if not torch.compiler.is_compiling() and _lies_in_pairs(x):
        turn = torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(torch.view_as_complex(pairs) * turn).flatten(-2)
    return torch.stack(_turn(*pairs.unbind(-1), angles), dim=-1).flatten(-2)


def _turn_half(x: Tensor, angles: Tensor) -> Tensor:
    if torch.compiler.is_compiling() or angles.requires_grad:
        return torch.cat(_turn(*x.chunk(2, dim=-1), angles), dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return _TurnHalf.apply(x, torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1))


class _TurnHalf(torch.autograd.Function):
    """(a, b) -> (a cos - b sin, b cos + a sin), by whole rows: halves of them are twice as slow on
    a CPU. The way back is the turn back."""

    @staticmethod
    def forward(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return (x * cos).addcmul_(x.roll(x.shape[-1] // 2, -1), sin)

    @staticmethod
    def setup_context(ctx, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _TurnHalf.apply(grad, cos, -sin), None, None


def _turn(a: Tensor, b: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    cos, sin = angles.cos(), angles.sin()
    # addcmul saves a pass over the heads for each sum, a third of the time.
    return torch.addcmul(a * cos, b, sin, value=-1), torch.addcmul(b * cos, a, sin)


def _lies_in_pairs(x: Tensor) -> bool:
    # What view_as_complex asks for: true of whole heads, but not of every slice of a tensor.
    *strides, last = x.stride()
    return last == 1 and all(s % 2 == 0 for s in (*strides, x.storage_offset()))


def _odd_width(width: int, fraction: float, d_head: int) -> str:
    fault = f"rope: d_head={d_head} x fraction={fraction} gives a rotary width of {width}, "
    if d_head < 2:
        return fault + "and pairs need a head at least 2 wide"
    valid = [w for w in (width - 1, width + 1) if 2 <= w <= d_head] or [2]
    nearest = " or ".join(f"{w} (fraction={w / d_head})" for w in valid)
    return fault + f"which is not a positive even number; nearest: {nearest}"


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("rope", RopeConfig, Rope)]
