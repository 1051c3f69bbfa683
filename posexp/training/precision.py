"""The model as evaluation sees it: in the precision it was trained in, on its device."""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model import Transformer


class EvaluatedModel:
    """Tokens (B, L) -> float32 logits (B, L, V), under autocast if `precision` is bf16-mixed."""

    def __init__(self, model: Transformer, precision: str, device: torch.device) -> None:
        self.model = model.to(device).eval()
        self.device = device
        self.autocasts = precision == "bf16-mixed"

    @property
    def max_length(self) -> int | None:
        """The number of positions that the scheme defines, or None for no limit."""
        return self.model.max_length

    def __call__(self, tokens: Tensor) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocasts):
            return self.model(tokens)
