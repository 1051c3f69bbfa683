"""Sinusoidal position vectors: fixed waves added to the input of the first layer.

    PE(p) = [sin(p w_k), cos(p w_k)]_k,   x <- x + PE(p)

with p the position, k a pair of columns and D the model width (the paper's d_model; our `theta`
is its 10000). What is called "the sinusoidal encoding" is three different things:

    layout       exponent       columns                  w_k                    whose
    interleaved  paper          sin cos sin cos ...      theta^(-2k/D)          the paper
    halves       tensor2tensor  sin sin ... cos cos ...  theta^(-k/(D//2 - 1))  its code, fairseq
    halves       paper          sin sin ... cos cos ...  theta^(-2k/D)          Transformer-XL

The fourth combination is allowed and is nobody's. An odd D: interleaved ends with a sine in the
paper's form; every other form ends with a column of zeros, as tensor2tensor does.

The factor on the token embeddings (sqrt(D) in the paper) is part of the model here, the same for
every scheme. There are no parameters and no table: no length is out of reach.

Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class SinusoidalConfig:
    """The columns' order, the law of the frequencies and its base. Raises `ValueError`."""

    layout: str = "interleaved"  # interleaved | halves
    exponent: str = "paper"  # paper: 2k/D | tensor2tensor: k/(D//2 - 1)
    theta: float = 10000.0

    def __post_init__(self) -> None:
        if self.layout not in ("interleaved", "halves"):
            raise ValueError(f"sinusoidal: layout is interleaved or halves, got {self.layout!r}")
        if self.exponent not in ("paper", "tensor2tensor"):
            raise ValueError(
                f"sinusoidal: exponent is paper or tensor2tensor, got {self.exponent!r}"
            )
        if not self.theta > 0:
            raise ValueError(f"sinusoidal: theta must be positive, got {self.theta}")


class Sinusoidal(PositionScheme):
    """x + PE(positions), computed in float32 or better. Raises `ValueError` if D is too small."""

    shift_invariant = False

    def __init__(self, config: SinusoidalConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        # tensor2tensor's exponent divides by D//2 - 1; halves need one sine and one cosine.
        least = 4 if config.exponent == "tensor2tensor" else 2 if config.layout == "halves" else 1
        if dims.d_model < least:
            raise ValueError(
                f"sinusoidal with layout={config.layout} and exponent={config.exponent} "
                f"needs d_model >= {least}, got {dims.d_model}"
            )

    def position_vectors(self, positions: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """PE (..., D) of `positions` (...)."""
        width, config = self.dims.d_model, self.config
        paper = config.exponent == "paper"
        pairs = (width + 1) // 2 if paper and config.layout == "interleaved" else width // 2
        k = torch.arange(pairs, device=positions.device, dtype=dtype)
        exponent = 2 * k / width if paper else k / (width // 2 - 1)
        angles = positions[..., None].to(dtype) * config.theta**-exponent
        waves = (angles.sin(), angles.cos())
        if config.layout == "interleaved":
            vectors = torch.stack(waves, dim=-1).flatten(-2)
        else:
            vectors = torch.cat(waves, dim=-1)
        # An odd width: the last cosine falls away or a column of zeros is added.
        return F.pad(vectors, (0, width - vectors.shape[-1]))

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add PE to the input (B, T, D) at `positions`, (T,) or (B, T)."""
        dtype = torch.promote_types(x.dtype, torch.float32)
        return (x + self.position_vectors(positions, dtype)).type_as(x)


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("sinusoidal", SinusoidalConfig, Sinusoidal)]
