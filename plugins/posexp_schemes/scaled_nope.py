"""Scaled NoPE: no position but a factor on queries that grows with how many keys they see.

    logit(i, j) = s(i) q_i . k_j / sqrt(d)

    steps   s(i) = 1 + a ln(floor((i + 1) / N) + 1)      Llama 4, N = 8192, a = 0.1
    log     s(i) = max(1, ln(i + 1) / ln N)              Qwen's LogN attention

i is the query's position, N the `interval`, a the `strength`. A softmax over more keys is flatter;
the factor sharpens it again. It is 1 while i + 1 < N: with N the training length, the default, it
is a scaling at inference, such as SWAN-GPT has for its NoPE layers. All keys of a query are scaled
alike: on its own this is as blind to their order as NoPE. It is made for the global layers of a
hybrid (preset `llama4`), and `posexp eval` puts it in the place of a trained NoPE.

Nakanishi 2025, "Scalable-Softmax Is Superior for Attention", for the idea; the code of Llama 4 for
`steps`; Chiang and Cholak 2022, "Overcoming a Theoretical Limitation of Self-Attention", and Qwen's
code for `log`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class ScaledNopeConfig:
    """The form of the factor, N and a. Raises `ValueError`."""

    form: str = "steps"  # steps | log
    interval: int | None = None  # N; null = the model's training length
    strength: float = 0.1  # a, of steps

    def __post_init__(self) -> None:
        if self.form not in ("steps", "log"):
            raise ValueError(f"scaled_nope: form is steps or log, got {self.form!r}")
        if self.interval is not None and self.interval < 2:
            raise ValueError(f"scaled_nope: interval must be at least 2, got {self.interval}")
        if self.strength < 0:
            raise ValueError(f"scaled_nope: strength must not be negative, got {self.strength}")
        if self.form == "log" and self.strength != ScaledNopeConfig.strength:
            raise ValueError("scaled_nope: strength belongs to form=steps; log has none")


class ScaledNope(PositionScheme):
    """A factor on queries."""

    shift_invariant = False

    def __init__(self, config: ScaledNopeConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.interval = config.interval or max(2, dims.context_length)

    def transform_query(self, q: Tensor, positions: Tensor) -> Tensor:
        """s(i) q for q (B, H, T, d) at `positions`, (T,) or (B, T)."""
        dtype = torch.promote_types(q.dtype, torch.float32)
        return (q * self.factor(positions, dtype)[..., None, :, None]).type_as(q)

    def factor(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """s, of the shape of `positions`."""
        seen = positions.to(dtype) + 1
        if self.config.form == "log":
            return (seen.log() / math.log(self.interval)).clamp(min=1)
        steps = torch.floor(seen / self.interval)
        return 1 + self.config.strength * torch.log1p(steps)


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("scaled_nope", ScaledNopeConfig, ScaledNope, extends="nope")]
