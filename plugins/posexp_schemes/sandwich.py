"""Sandwich: the inner product of two sinusoidal position vectors, as a bias by distance.

    logit + sum_k cos(n / 10000^(2k/w)) / (8h/H),   k = 0 ... w/2 - 1,   n = i - j,   h = 1 ... H

w is the paper's d-bar, 8h/H its compression ratio. NeMo counts k from 1 and subtracts w/2.
Chi et al. 2023, "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field
Analysis", appendix E.
"""

from dataclasses import dataclass

import torch

from posexp import PositionScheme, SchemeSpec, hookimpl


@dataclass
class SandwichConfig:
    """The width w of the vectors, whatever that of the model. Raises `ValueError`."""

    width: int = 128

    def __post_init__(self) -> None:
        if self.width < 2 or self.width % 2:
            raise ValueError(f"sandwich: width must be even and at least 2, got {self.width}")


class Sandwich(PositionScheme):
    """The bias (H, N): no parameters, and the same in both directions."""

    def distance_bias(self, n: torch.Tensor) -> torch.Tensor:
        width, heads = self.config.width, self.dims.n_heads
        waves = sum((n.float() * 10000 ** (-k / width)).cos() for k in range(0, width, 2))
        ratio = torch.arange(1, heads + 1, device=n.device, dtype=torch.float32) * 8 / heads
        return waves / ratio[:, None]


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("sandwich", SandwichConfig, Sandwich)]
