"""Position interpolation: RoPE for s times the trained length, every position divided by s.

    q_i . k_j  ->  (R_(i/s) q_i) . (R_(j/s) k_j)

s is the `factor` (the paper's L'/L): position s L stands where L stood in training, and neighbours
move together, so that a model needs some training to tell them apart again. Dividing positions is
dividing RoPE's frequencies. Gemma 3 has it, with s = 8, in its global layers.

Chen et al. 2023, "Extending Context Window of Large Language Models via Positional Interpolation".
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posexp import SchemeSpec, hookimpl
from posexp_schemes.rope import Rope, RopeConfig


@dataclass
class PositionInterpolationConfig(RopeConfig):
    """RoPE's parameters and s. Raises `ValueError`."""

    factor: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.factor >= 1:
            raise ValueError(
                f"position_interpolation: factor must be at least 1, got {self.factor}"
            )


class PositionInterpolation(Rope):
    """RoPE at the frequencies w/s."""

    def frequencies(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """w/s, (r/2,)."""
        return super().frequencies(positions, dtype) / self.config.factor


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [
        SchemeSpec(
            "position_interpolation",
            PositionInterpolationConfig,
            PositionInterpolation,
            extends="rope",
        )
    ]
