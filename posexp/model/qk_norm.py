"""QK-norm: queries and keys of each head get one size, so logits do not grow with training.

    norm(x) = x / sqrt(mean(x^2) + eps) * w,   the mean over the d columns of a head

w (d,) is learned and shared by the heads, or left out. The norm stands before the scheme's
transforms (Gemma 3, Qwen 3) or after them (Llama 4, without w).

Dehghani et al. 2023, "Scaling Vision Transformers to 22 Billion Parameters", section 2.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from posexp.model.config import NORMS, ModelConfig
from posexp.model.rms_norm import rms_norm


class HeadNorm(nn.Module):
    """RMSNorm over the last axis, in float32 or better, whatever autocast makes of its input."""

    def __init__(self, width: int, config: ModelConfig, affine: bool = True) -> None:
        super().__init__()
        self.eps = config.norm_eps or NORMS["rmsnorm"]
        self.weight = nn.Parameter(torch.ones(width)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) -> same, in the dtype of x."""
        return rms_norm(x, self.weight, self.eps)


class QKNorm(nn.Module):
    """One norm for the queries of a layer and one for its keys."""

    def __init__(self, width: int, config: ModelConfig) -> None:
        super().__init__()
        self.query = HeadNorm(width, config, config.qk_norm_affine)
        self.key = HeadNorm(width, config, config.qk_norm_affine)
