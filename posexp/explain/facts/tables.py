"""Which rows of its tables a scheme reads in training, by their gradients."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

from posexp.explain.facts.fact import Fact
from posexp.explain.study import Study

#: Tokens of the longest pass that is made for the sake of its gradients, unless T is longer.
LONGEST = 1024


@dataclass(frozen=True)
class Rows:
    """Of one parameter's rows, those that get a gradient in training, and those read only later."""

    name: str
    total: int
    trained: int
    only_beyond: int


def rows(study: Study) -> list[Rows]:
    """Every parameter of the scheme, by the gradients of a pass of T tokens and of a longer one.

    A row without a gradient after a whole window of random tokens is not read there.
    """
    model = study.model()
    names = [name for name, parameter in model.scheme.named_parameters() if parameter.ndim]
    if not names:
        return []
    short = study.up_to(study.trained_length)
    long = study.up_to(max(study.trained_length, min(4 * study.trained_length, LONGEST)))
    trained = _reached(model, short)
    later = _reached(model, long) if long > short else trained
    return [
        Rows(
            name.removeprefix("schemes.0."),  # a span's own name for what it wraps
            len(trained[name]),
            int(trained[name].sum()),
            int((later[name] & ~trained[name]).sum()),
        )
        for name in names
    ]


def _reached(model: torch.nn.Module, length: int) -> dict[str, torch.Tensor]:
    """Which rows of each parameter of the scheme get a gradient from `length` random tokens."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(model.embedding.num_embeddings, (1, length), generator=generator)
    model.zero_grad()
    out = model(tokens)
    out.backward(torch.randn(out.shape, generator=generator))
    found = {}
    for name, parameter in model.scheme.named_parameters():
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        if parameter.ndim:
            found[name] = gradient.flatten(1).ne(0).any(1) if parameter.ndim > 1 else gradient.ne(0)
    return found


def trained_rows(study: Study) -> Fact:
    """Which parts of its tables a window of training never reads."""
    found = rows(study)
    if not found:
        return Fact("it has no tables")
    alike: dict[str, list[Rows]] = {}
    for row in found:  # those of several layers in one sentence
        alike.setdefault(re.sub(r"\d+", "*", row.name), []).append(row)
    parts = [
        _sentence(name, group)
        for name, group in alike.items()
        if any(row.trained < row.total for row in group)
    ]
    if parts:
        return Fact("; ".join(parts))
    return Fact(f"all {sum(row.total for row in found):,} rows of its parameters are reached in T")


def _sentence(name: str, group: list[Rows]) -> str:
    trained, beyond = ({getattr(r, key) for r in group} for key in ("trained", "only_beyond"))
    text = f"{name}: {_range(trained)} of {group[0].total:,} rows are reached in T"
    if max(beyond):
        text += f", {_range(beyond)} more only beyond it, where they are as they started"
    return text


def _range(numbers: set[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
