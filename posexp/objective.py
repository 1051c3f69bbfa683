"""What a model learns to predict: each next token, or tokens that are masked.

next_token
    Each token from those before it.
mlm
    Masked tokens from what stands on both sides (Devlin et al. 2019, "BERT", section 3.1): `rate`
    of a window's tokens are masked, and the loss is over these alone. With `replace=mask` MASK
    stands in all their places. With `replace=bert` it stands in 80 % of them, a random token in
    10 %, and 10 % stay as they are: BERT's way to get used to text without MASK, on which it is
    fine-tuned. Raffel et al. 2020 (T5), section 3.3.2, found little difference, and nothing is
    fine-tuned here: so MASK alone is the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posexp.registry import nearest

NEXT_TOKEN, MLM = "next_token", "mlm"
OBJECTIVES = (NEXT_TOKEN, MLM)
REPLACEMENTS = ("mask", "bert")


@dataclass(frozen=True)
class Objective:
    """What `conf/objective/*.yaml` sets. Raises `ValueError` for what cannot be meant."""

    name: str = NEXT_TOKEN
    rate: float | None = None
    replace: str | None = None

    def __post_init__(self) -> None:
        if self.name not in OBJECTIVES:
            raise ValueError(
                f"there is no objective {self.name!r}{nearest(str(self.name), OBJECTIVES)}; it is "
                f"{' or '.join(OBJECTIVES)}"
            )
        if not self.masks:
            for key in ("rate", "replace"):
                if (value := getattr(self, key)) is not None:
                    raise ValueError(
                        f"objective=next_token masks nothing, so objective.{key}={value} does not "
                        f"go with it; use objective=mlm objective.{key}={value}"
                    )
            return
        is_number = isinstance(self.rate, int | float) and not isinstance(self.rate, bool)
        if not is_number or not 0 < self.rate < 1:
            raise ValueError(
                f"objective.rate must be above 0 and below 1, got {self.rate}; BERT has 0.15"
            )
        if self.replace not in REPLACEMENTS:
            close = nearest(str(self.replace), REPLACEMENTS)
            raise ValueError(
                f"objective.replace={self.replace} is unknown{close}; valid: "
                f"{', '.join(REPLACEMENTS)}"
            )

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Objective:
        """That of a resolved config; one of before there was a choice predicts the next token."""
        return cls(**config.get("objective", {}))

    @property
    def masks(self) -> bool:
        """Whether tokens are masked, so that the vocabulary has MASK."""
        return self.name == MLM

    def vocabulary(self, tokens: int) -> int:
        """The token ids of a model whose tokenizer has `tokens`: MASK is the one after them."""
        return tokens + self.masks


def check_objective(config: Mapping[str, Any]) -> None:
    """Raise `ValueError` where a job's objective does not go with its attention or its task."""
    objective, causal = Objective.of(config), config["model"]["causal"]
    if objective.masks and causal:
        raise ValueError(
            "objective=mlm predicts masked tokens from both sides, and model.causal=true hides the "
            "later one; set model.causal=false"
        )
    if not objective.masks and not causal:
        raise ValueError(
            "model.causal=false with next-token loss would leak: every position sees its own "
            "target; set model.causal=true, or objective=mlm for masked tokens"
        )
    if objective.masks and "task" in config:
        raise ValueError(
            f"task={config['task']['name']} asks for the token after a question, which a model of "
            "objective=mlm never learned to give; set task=none"
        )
