"""KERPLE: -p ln(1 + a n), or the power -a n^p, added to the logits at distance n = |i - j|.

a and p, learned per head, start as U(0, 1) and U(0, 2) and act as if >= 0.01, a power's p as <= 2.
Chi et al. 2022, "KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation".
"""

from dataclasses import dataclass

import torch

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class KerpleConfig:
    """Which kernel: the paper's logarithm, or its power."""

    power: bool = False


class Kerple(PositionScheme):
    """The bias (H, N). A value beyond its limit goes on learning, as in the authors' code."""

    def __init__(self, config: KerpleConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.a, self.p = (torch.nn.Parameter(torch.zeros(dims.n_heads, 1)) for _ in "ap")

    def init_parameter(self, name: str, parameter: torch.Tensor, generator: torch.Generator):
        parameter.uniform_(0.0, 2.0 if name == "p" else 1.0, generator=generator)

    def distance_bias(self, n: torch.Tensor) -> torch.Tensor:
        a, p = self.a.float(), self.p.float()
        a = a + (a.clamp(min=0.01) - a).detach()
        p = p + (p.clamp(0.01, 2.0 if self.config.power else None) - p).detach()
        return -a * n.abs() ** p if self.config.power else -p * torch.log1p(a * n.abs())


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("kerple", KerpleConfig, Kerple)]
