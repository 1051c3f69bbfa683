"""Models as the trainer builds them, and the same model without positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from posexp.compose import with_span
from posexp.data.tokens import VOCABULARY
from posexp.model import ModelConfig, Transformer
from posexp.model.init import init_weights
from posexp.model.kernels import kernel_for
from posexp.model.layout import Layout
from posexp.model.transformer import remapped
from posexp.registry import build_scheme
from posexp.scheme import PositionScheme

DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}


def with_scheme(config: Mapping[str, Any], length: int, device: str) -> Transformer:
    """The transformer of a job's config, built for contexts of `length`, in training mode."""
    sizes = ModelConfig(**config["model"])
    scheme = build_scheme(config["scheme"], sizes.dims(length))
    scheme = with_span(scheme, config["span"].get("window"), config["span"].get("chunk"))
    return _drawn(Transformer(sizes, scheme, VOCABULARY, length), device)


def _drawn(model: Transformer, device: str | torch.device) -> Transformer:
    init_weights(model, seed=0)
    return model.to(device)


def without_positions(like: Transformer) -> Transformer:
    """The same sizes with NoPE: the contract's identity, which the fused causal kernel serves.

    A norm behind transforms has none to stand behind, so it is left out.
    """
    scheme, config = PositionScheme(dims=like.dims), like.config
    if config.qk_norm == "after":
        config = dataclasses.replace(config, qk_norm="none", qk_norm_affine=True)
    model = Transformer(config, scheme, VOCABULARY, like.dims.context_length)
    return _drawn(model, like.embedding.weight.device)


def kernels_used(model: Transformer, layout: Layout, layers: Sequence[int] | None = None) -> str:
    """The kernels that a pass laid out like this gets in `layers`, or in all; equal ones once."""
    layout = remapped(layout, model.scheme)
    chosen = range(model.config.n_layers) if layers is None else layers
    names = (kernel_for(layout, model.legal_kernels[i]).name for i in chosen)
    return " ".join(dict.fromkeys(names))


def plain_row(model: Transformer, length: int) -> Layout:
    """A whole sequence attending to itself."""
    device = model.embedding.weight.device
    tokens = torch.zeros(1, length, dtype=torch.long, device=device)
    return Layout.of_tokens(tokens, causal=model.config.causal)


def distinct_layers(model: Transformer) -> list[list[int]]:
    """The layers that share a scheme, together; one group for most schemes."""
    groups: dict[PositionScheme, list[int]] = {}
    for layer in range(model.config.n_layers):
        groups.setdefault(model.scheme.for_layer(layer), []).append(layer)
    return list(groups.values())


def synchronizer(device: str) -> Callable[[], None]:
    """What waits for `device` to finish its work."""
    return torch.cuda.synchronize if device == "cuda" else lambda: None
