"""Dynamic NTK: RoPE whose base grows with the sequence, once that is longer than in training.

    theta' = theta (1 + f (s - 1))^(r/(r - 2)),   s = max(1, T / L)

T is the current length, L the `trained_length`, r the rotary width (the paper's d), f the `factor`;
the last frequency is then exactly that of training over 1 + f (s - 1). Two conventions:

    f = 1               theta' = theta s^(r/(r - 2))                    the paper's
    f = the "factor"    theta' = theta (f T/L - (f - 1))^(r/(r - 2))    Hugging Face's

Up to L it is RoPE. Beyond, every token changes all angles, and with them what deeper layers make of
earlier tokens: there a cache refuses to go on unless it is told that stale values will do.

bloc97 and emozilla 2023 (posts on r/LocalLLaMA); Peng et al. 2023, "YaRN: Efficient Context Window
Extension of Large Language Models", section 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posexp import AttentionDims, SchemeSpec, hookimpl
from posexp_schemes.rope import Rope, RopeConfig


@dataclass
class DynamicNtkConfig(RopeConfig):
    """RoPE's parameters, L (null: the model's training length) and f. Raises `ValueError`."""

    trained_length: int | None = None
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.trained_length is not None and self.trained_length < 1:
            raise ValueError(
                f"dynamic_ntk: trained_length must be at least 1, got {self.trained_length}"
            )
        if not self.factor > 0:
            raise ValueError(f"dynamic_ntk: factor must be positive, got {self.factor}")


class DynamicNtk(Rope):
    """RoPE at theta'. Raises `ValueError` for a rotary width under 4: 2 has no last frequency."""

    shift_invariant = False
    length_dependent = True

    def __init__(self, config: DynamicNtkConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        if self.rotary_width < 4:
            raise ValueError(f"dynamic_ntk: the rotary width is {self.rotary_width}, at least 4")
        self.steady_until = config.trained_length or dims.context_length

    def frequencies(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """theta'^(-2k/r), (..., 1, 1, r/2), each row by its own largest position."""
        width = self.rotary_width
        pairs = torch.arange(0, width, 2, device=positions.device, dtype=dtype)
        length = positions.amax(dim=-1)[..., None, None, None].to(dtype) + 1
        growth = 1 + self.config.factor * ((length / self.steady_until).clamp(min=1) - 1)
        # theta' to the power of -2k/r, with both powers of the growth in one.
        return super().frequencies(positions, dtype) * growth ** (-pairs / (width - 2))


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("dynamic_ntk", DynamicNtkConfig, DynamicNtk, extends="rope")]
