"""ALiBi: a fixed penalty on distance, with a slope of its own for each head.

    logit(i, j) = q_i . k_j / sqrt(d) - m_h |i - j|

i is the query's and j the key's position; the paper writes m (j - i) for j <= i, the same. For a
power of two of H heads the slopes are geometric, and for any other H those of the next smaller
power C are followed by every second slope of 2C:

    m_h = 2^(-8h/C),  h = 1 ... C      then      m = 2^(-8h/(2C)),  h = 1, 3, 5, ...

Bidirectional attention gets the symmetric form. There are no parameters.

Press, Smith and Lewis 2022, "Train Short, Test Long: Attention with Linear Biases Enables Input
Length Extrapolation"; the rule for other H is that of the authors' code.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posexp import PositionScheme, SchemeSpec, hookimpl


@dataclass
class AlibiConfig:
    """ALiBi has no parameters: the slopes follow from the number of heads."""


class Alibi(PositionScheme):
    """bias = -slope |n|."""

    def distance_slopes(self, device: torch.device) -> Tensor:
        """The slopes (H,), float32."""
        heads = self.dims.n_heads
        power = 1 << (heads.bit_length() - 1)
        first = torch.arange(1, power + 1, device=device, dtype=torch.float32)
        others = 2 * torch.arange(heads - power, device=device, dtype=torch.float32) + 1
        return 2.0 ** -torch.cat((first * 8 / power, others * 4 / power))


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("alibi", AlibiConfig, Alibi)]
