"""From a resolved config to a model, and the checks that come before any training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from posexp.compose import with_span
from posexp.data.bos import first_start
from posexp.data.lengths import check_lengths
from posexp.data.load import load_corpus
from posexp.data.sampler import check_batch
from posexp.data.tokens import VOCABULARY
from posexp.evaluation.masked import check_masked
from posexp.evaluation.settings import check_evaluation, eval_lengths
from posexp.model import ModelConfig, Transformer
from posexp.model.init import init_weights
from posexp.objective import Objective, check_objective
from posexp.registry import build_scheme
from posexp.scheme import PositionScheme
from posexp.tracking.mode import check_tracking
from posexp.training.optimizer import check_optimizer
from posexp.training.tasks import check_task

POSITIVE = (
    *("context_length", "max_steps", "log_every", "val_windows"),
    *("checkpoint_every", "keep_checkpoints"),
)

#: What limits the keys that a query sees, and the number that says how far.
SPANS = {"sliding": "window", "chunked": "chunk"}


@dataclass(frozen=True)
class JobPlan:
    """What a job will be, known without running it."""

    parameters: int
    scheme_parameters: int
    kernels: list[str]  # of each layer
    tokens: int  # seen in training

    @property
    def checkpoint_bytes(self) -> int:
        """Weights and AdamW's two moments, float32."""
        return 3 * 4 * self.parameters


def make_model(config: Mapping[str, Any], tokens: int | None = None) -> Transformer:
    """The transformer of a resolved config, its weights not yet drawn.

    `tokens` is the number of ids of the tokenizer, BOS included; that of bytes where it is not
    known. Raises `ValueError` or `PluginError` for what cannot work.
    """
    sizes = ModelConfig(**config["model"])
    context_length = config["trainer"]["context_length"]
    scheme = build_scheme(config["scheme"], sizes.dims(context_length))
    if scheme.max_length is not None and scheme.max_length < context_length:
        raise ValueError(
            f"{config['scheme']['name']} defines {scheme.max_length} positions, fewer than "
            f"trainer.context_length={context_length}"
        )
    scheme = with_span(scheme, config["span"].get("window"), config["span"].get("chunk"))
    vocabulary = Objective.of(config).vocabulary(VOCABULARY if tokens is None else tokens)
    if tokens is not None and sizes.vocabulary is not None and sizes.vocabulary < vocabulary:
        raise ValueError(
            f"model.vocabulary={sizes.vocabulary} has no room for the {vocabulary} ids of the "
            f"tokenizer; at least {vocabulary}, or null"
        )
    return Transformer(sizes, scheme, vocabulary, context_length)


def build_model(config: Mapping[str, Any], tokens: int | None = None) -> Transformer:
    """The transformer of a resolved config with its initial weights; `tokens` as above."""
    model = make_model(config, tokens)
    init_weights(model, config["seed_init"])
    return model


def check_job(config: Mapping[str, Any]) -> JobPlan:
    """Everything that can be known to be wrong with a job before it runs.

    Raises `ValueError` or `PluginError` with one message; gives the plan of a job that can run.
    """
    trainer = config["trainer"]
    for name in POSITIVE:
        if trainer[name] < 1:
            raise ValueError(f"trainer.{name} must be at least 1, got {trainer[name]}")
    if trainer["val_every"] is not None and trainer["val_every"] < 1:
        raise ValueError(
            f"trainer.val_every must be at least 1, or null for never, got {trainer['val_every']}"
        )
    for name, least in (("threads", 1), ("workers", 0)):
        if trainer[name] is not None and trainer[name] < least:
            raise ValueError(f"trainer.{name} must be at least {least}, got {trainer[name]}")
    check_batch(trainer["batch_size"], trainer["accumulate"], trainer["devices"])
    check_optimizer(config["optimizer"])
    check_tracking(config["tracking"])
    check_span(config["span"])
    first_start(config["data"]["bos"])  # raises for an unknown rule
    check_objective(config)
    with torch.device("meta"):
        make_model(config)  # before the corpus, which may take long
    corpus = load_corpus(config["data"])
    with torch.device("meta"):
        model = make_model(config, corpus.tokenizer.vocabulary)
    if trainer["val_every"] is not None and not corpus.split("val"):
        raise ValueError(
            f"corpus {corpus.name} has no val split to look at every {trainer['val_every']} steps; "
            "set trainer.val_every=null"
        )
    longest = max(eval_lengths(config["evaluation"], trainer["context_length"]))
    check_lengths(corpus, config["evaluation"]["split"], longest, trainer["context_length"])
    check_evaluation(config["evaluation"], trainer["context_length"], corpus)
    if Objective.of(config).masks:
        check_masked(config["evaluation"], trainer["context_length"])
    check_task(config, corpus)
    device = "cuda" if trainer["accelerator"] == "gpu" else "cpu"
    return JobPlan(
        parameters=count_parameters(model),
        scheme_parameters=count_parameters(model.scheme),
        kernels=[kernel.name for kernel in model.kernels_on(device)],
        tokens=trainer["max_steps"] * trainer["batch_size"] * trainer["context_length"],
    )


def check_span(span: Mapping[str, Any]) -> None:
    """Raise `ValueError` where the span's name and its numbers say different things."""
    if span["name"] not in ("full", *SPANS):
        return
    for name, key in SPANS.items():
        value, chosen = span.get(key), span["name"] == name
        if value is not None and not chosen:
            raise ValueError(
                f"span={span['name']} has no {key}, so span.{key}={value} does not go with it; use "
                f"span={name} span.{key}={value}"
            )
        if value is None and chosen:
            raise ValueError(f"span={name} needs span.{key}; or use span=full")


def count_parameters(module: torch.nn.Module | PositionScheme) -> int:
    """Trainable numbers, each shared parameter once."""
    return sum(p.numel() for p in module.parameters())
