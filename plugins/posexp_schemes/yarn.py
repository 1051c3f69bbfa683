"""YaRN: RoPE for s times the trained length; slow pairs are stretched, fast ones left as they are.

    w'_k = (1 - g_k) w_k / s + g_k w_k,    (cos, sin) times 0.1 ln s + 1, on q and on k

w_k are RoPE's frequencies, s the `factor`, L the `trained_length` (the paper's L; L' = s L), r the
rotary width (the paper's |D|). Pair k turns L w_k / 2 pi times in training; beta_slow turns and
fewer are interpolated (g = 0), beta_fast and more are not (g = 1). Between the two the paper and
everyone's code differ:

    paper   g_k = (L w_k / 2 pi - beta_slow) / (beta_fast - beta_slow)
    code    g_k = 1 - (k - low) / (high - low), with low and high the pairs, rounded down and up,
            that turn beta_fast and beta_slow times: the authors' repository, Hugging Face

both clipped to [0, 1]. They part where training was short: under L = 2 pi beta_fast (201 tokens) no
pair turns beta_fast times, so the paper's form stretches even the fastest, which the code's never
does. Released models are made with the code's, so it is the default.

Llama 3.1's scaling is the paper's ramp with beta_slow = 1 and beta_fast = 4 (its low and its high
frequency factor), s = 8, L = 8192 and attention_factor = 1.

The paper's t = (0.1 ln s + 1)^-2, by which logits are divided, is the factor on cos and sin twice;
`attention_factor` replaces 0.1 ln s + 1.

Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from posexp import AttentionDims, SchemeSpec, hookimpl
from posexp_schemes.rope import Rope, RopeConfig


@dataclass
class YarnConfig(RopeConfig):
    """RoPE's, s, L (null: the model's training length), and the ramp. Raises `ValueError`."""

    factor: float = 4.0
    trained_length: int | None = None
    convention: str = "code"  # code | paper
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None  # null = 0.1 ln s + 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.theta > 1:
            raise ValueError(f"yarn: theta must be above 1, got {self.theta}")
        if not self.factor >= 1:
            raise ValueError(f"yarn: factor must be at least 1, got {self.factor}")
        if self.trained_length is not None and self.trained_length < 1:
            raise ValueError(f"yarn: trained_length must be at least 1, got {self.trained_length}")
        if self.convention not in ("code", "paper"):
            raise ValueError(f"yarn: convention is code or paper, got {self.convention!r}")
        if not self.beta_fast > self.beta_slow > 0:
            raise ValueError(
                f"yarn: beta_fast > beta_slow > 0, got {self.beta_fast} and {self.beta_slow}"
            )
        if self.attention_factor is not None and not self.attention_factor > 0:
            raise ValueError(f"yarn: attention_factor must be positive: {self.attention_factor}")


class Yarn(Rope):
    """RoPE at the frequencies w', with cos and sin scaled."""

    def __init__(self, config: YarnConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.trained_length = config.trained_length or dims.context_length
        self.amplitude = config.attention_factor or 0.1 * math.log(config.factor) + 1

    def frequencies(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """w', (r/2,)."""
        w = super().frequencies(positions, dtype)
        kept = self._kept(w)
        return (1 - kept) * w / self.config.factor + kept * w

    def _kept(self, w: Tensor) -> Tensor:
        fast, slow = self.config.beta_fast, self.config.beta_slow
        if self.config.convention == "paper":
            turns = self.trained_length * w / (2 * math.pi)
            return ((turns - slow) / (fast - slow)).clamp(0, 1)
        low = max(math.floor(self._pair_that_turns(fast)), 0)
        # The code's own limit: the last column, not the last pair.
        high = min(math.ceil(self._pair_that_turns(slow)), self.rotary_width - 1)
        pair = torch.arange(len(w), device=w.device, dtype=w.dtype)
        return 1 - ((pair - low) / max(high - low, 0.001)).clamp(0, 1)

    def _pair_that_turns(self, times: float) -> float:
        """The k, not rounded, of which L w_k = 2 pi times."""
        wavelengths = self.trained_length / (2 * math.pi * times)
        return self.rotary_width * math.log(wavelengths) / (2 * math.log(self.config.theta))


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("yarn", YarnConfig, Yarn, extends="rope")]
