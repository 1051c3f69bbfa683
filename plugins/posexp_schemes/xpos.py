"""xPos: RoPE, with pair k of a query also multiplied by z_k^(i/512), of a key by z_k^(-j/512).

z_k = (2k/d + 0.4) / 1.4. At position 64 x 512 a key's factor is 7e34, and float32 ends at 3e38.
Sun et al. 2022, "A Length-Extrapolatable Transformer".
"""

from dataclasses import dataclass

import torch

from posexp import AttentionDims, PositionScheme, SchemeSpec, build_scheme, hookimpl


@dataclass
class XposConfig:
    """xPos has no parameters."""


class Xpos(PositionScheme):
    """For causal attention: it grows with the future. `ValueError` for positions from 32768 on."""

    def __init__(self, config: XposConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.max_length, self.rope = 64 * 512, build_scheme({"name": "rope"}, dims)

    def transform_query(self, q: torch.Tensor, positions: torch.Tensor, sign: int = 1):
        if not torch.compiler.is_compiling() and positions.is_cpu and (positions >= 64 * 512).any():
            raise ValueError(f"xpos: positions end at 32768, got {int(positions.max())}")
        p = positions[..., None, :, None].to(torch.promote_types(q.dtype, torch.float32))
        two_k = torch.arange(q.shape[-1], device=q.device, dtype=p.dtype) // 2 * 2
        power = ((two_k / q.shape[-1] + 0.4) / 1.4) ** (sign * p / 512)
        return (self.rope.transform_query(q.to(p.dtype), positions) * power).type_as(q)

    def transform_key(self, k: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        return self.transform_query(k, positions, sign=-1)


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("xpos", XposConfig, Xpos)]
