"""Which fused kernels serve a scheme: all that may, and the one that it gets."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from posexp.explain.facts.fact import Fact
from posexp.explain.study import Kind, Study, bare_model
from posexp.model.cache import refusal as cache_refusal
from posexp.model.kernels import KERNELS, kernel_for
from posexp.model.layout import Layout
from posexp.model.transformer import remapped


@dataclass(frozen=True)
class Serving:
    """Kernel -> why it may not serve the layer, or None; and which one each pass gets."""

    refusals: dict[str, str | None]
    training: str
    decoding: str | None


def serving(study: Study, kind: Kind) -> Serving:
    """For a pass of T tokens, and for one new token on T cached ones, on this machine's CPU."""
    scheme, config = study.exhibit.scheme, study.config
    layer = scheme.for_layer(kind.number)
    with torch.device("meta"):
        legal = bare_model(config, scheme).legal_kernels[kind.number]
    length = study.up_to(study.trained_length)
    plain = Layout.of_tokens(torch.empty(1, length), causal=config.causal)
    laid_out = remapped(plain, scheme)
    decoding = None
    if config.causal and cache_refusal(scheme) is None:
        decoding = kernel_for(laid_out.tile(length - 1, length, 0, length), legal).name
    refusals = {
        name: kernel.refusal(layer, config.causal, config.attention_dropout)
        for name, kernel in KERNELS.items()
    }
    names = [kernel.name for kernel in legal]
    for name, reason in refusals.items():
        if reason is None and name not in names:
            refusals[name] = f"model.kernel={config.kernel}, model.attention={config.attention}"
    refusals |= dict.fromkeys(names)
    return Serving(refusals, kernel_for(laid_out, legal).name, decoding)


def training_kernel(study: Study) -> Fact:
    """The kernel of a training step."""
    return Fact(study.by_kind(lambda kind: serving(study, kind).training))


def decoding_kernel(study: Study) -> Fact:
    """The kernel of one new token."""
    return Fact(study.by_kind(lambda kind: serving(study, kind).decoding or "none: no cache"))
