"""A trained transformer evaluated as its config says: its precision, its device, its corpus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from posexp.data.documents import Corpus
from posexp.data.masking import Masking
from posexp.evaluation.evaluate import evaluate
from posexp.evaluation.recall import recall
from posexp.model import Transformer
from posexp.training.tasks import make_task


def evaluate_trained(
    model: Transformer, corpus: Corpus, config: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `evaluate` gives for `model`, under a resolved config, on its GPU if it has one.

    Where the config has a task, `task` in the results is its name and what `recall` gives.
    """
    evaluated = EvaluatedModel.under(config, model)
    how = {
        "context_length": config["trainer"]["context_length"],
        "bos": config["data"]["bos"],
        "device": evaluated.device,
    }
    results, arrays = evaluate(
        evaluated,
        corpus,
        config["evaluation"],
        masking=Masking.of(config, corpus.tokenizer.bos, corpus.tokenizer.vocabulary),
        **how,
    )
    if (task := make_task(config)) is not None:
        found = recall(evaluated, corpus, config["evaluation"], task, **how)
        results["task"] = {"name": config["task"]["name"], **found}
    return results, arrays


class EvaluatedModel:
    """Tokens (B, L) -> float32 logits (B, L, V), under autocast if `precision` is bf16-mixed."""

    def __init__(self, model: Transformer, precision: str, device: torch.device) -> None:
        self.model = model.to(device).eval()
        self.device = device
        self.autocasts = precision == "bf16-mixed"

    @classmethod
    def under(cls, config: Mapping[str, Any], model: Transformer) -> EvaluatedModel:
        """As a resolved config says, on its GPU if there is one now."""
        on_gpu = config["trainer"]["accelerator"] == "gpu" and torch.cuda.is_available()
        device = torch.device("cuda" if on_gpu else "cpu")
        return cls(model, config["trainer"]["precision"], device)

    @property
    def max_length(self) -> int | None:
        """The number of positions that the scheme defines, or None for no limit."""
        return self.model.max_length

    def __call__(self, tokens: Tensor, **given: Any) -> Tensor:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.autocasts):
            return self.model(tokens, **given)
