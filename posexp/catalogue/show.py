"""The page of one scheme: a section each for what its users ask.

A section is a function from an `Exhibit` to its lines; to say more, add one to SECTIONS.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable

from omegaconf import MISSING

from posexp.catalogue import source
from posexp.catalogue.decoding import cache
from posexp.catalogue.drawing import drawing
from posexp.catalogue.exhibit import Exhibit
from posexp.model.kernels import KERNELS
from posexp.model.variants import KINDS
from posexp.scheme import PositionScheme

WIDTH = 100
INDENT = "  "


def page(exhibit: Exhibit) -> str:
    """Every section that has something to say, under its heading."""
    parts = [f"{exhibit.spec.name}  ({exhibit.origin})"]
    for heading, section in SECTIONS.items():
        lines = section(exhibit)
        if lines:
            parts.append("\n".join([heading, *(textwrap.indent(line, INDENT) for line in lines)]))
    return "\n\n".join(parts)


def idea(exhibit: Exhibit) -> list[str]:
    """The summary, the equation and the paper, as the scheme's docstring has them."""
    told = source.description(exhibit.spec)
    of_class = source.Description.of(source.class_docstring(exhibit.spec)).summary
    if of_class and of_class != told.summary:
        of_class = f"{exhibit.spec.build.__name__}: {of_class}"
    else:
        of_class = ""
    blocks = [told.summary, *told.equations, of_class, *told.citations]
    return ["\n\n".join(block for block in blocks if block)] if any(blocks) else []


def parameters(exhibit: Exhibit) -> list[str]:
    """Each setting with its type, its default and its meaning."""
    spec, told = exhibit.spec, source.meanings(exhibit.spec.config)
    rows = []
    for field in dataclasses.fields(spec.config):
        if field.name == "defaults":  # Hydra's own
            continue
        kind = field.type if isinstance(field.type, str) else _type_name(field.type)
        text = f"{field.name}: {kind} = {_default(field)}"
        value = getattr(exhibit.config, field.name)
        here = f"here {_shown(value)}" if _shown(value) != _default(field) else ""
        rows.append((text, "; ".join(filter(None, (here, told.get(field.name, ""))))))
    width = max((len(text) for text, _ in rows), default=0)
    hang = " " * (width + 2)
    lines = [
        textwrap.fill(f"{text.ljust(width)}  {meaning}".rstrip(), WIDTH, subsequent_indent=hang)
        for text, meaning in rows
    ]
    about = (spec.config.__doc__ or "").strip()
    if about and not about.startswith(f"{spec.config.__name__}("):  # what dataclass makes up
        lines.insert(0, source.Description.of(about).summary)
    return lines or ["none"]


def trained(exhibit: Exhibit) -> list[str]:
    """The scheme's own trained parameters at these dims."""
    tensors = list(exhibit.scheme.named_parameters())
    total = sum(p.numel() for _, p in tensors)
    return [f"{total:,}", *(f"{name} {tuple(p.shape)}" for name, p in tensors)]


def methods(exhibit: Exhibit) -> list[str]:
    """Which of the contract's methods it overrides."""
    once = {"remap_positions", "embed"}
    whole = sorted(exhibit.scheme.acts_on & once)
    lines = [f"{', '.join(whole)}: once, before the first layer"] if whole else []

    def in_layer(layer: PositionScheme) -> str:
        return ", ".join(sorted(layer.acts_on - once)) or "nothing inside attention"

    inside = exhibit.by_layer(in_layer)
    return lines + [line for line in inside if not (lines and line == in_layer(PositionScheme()))]


def attention(exhibit: Exhibit) -> list[str]:
    """Which kinds of attention can serve it, and why others cannot."""
    model = exhibit.model
    return _tables(exhibit, lambda layer: {n: k.refusal(model, layer) for n, k in KINDS.items()})


def kernels(exhibit: Exhibit) -> list[str]:
    """Which kernels may compute its attention, the fastest first, and why others may not."""
    model, kind = dataclasses.replace(exhibit.model, kernel="auto"), KINDS[exhibit.model.attention]
    if any(kind.refusal(model, layer) for layer in exhibit.layers):
        return [f"none: {model.attention} attention cannot serve it"]
    own = {k.name for layer in exhibit.layers for k in kind.legal_kernels(model, layer)}
    if not own <= set(KERNELS):
        return [f"{', '.join(sorted(own))}: {model.attention} attention has no other"]

    def refusals(layer: PositionScheme) -> dict[str, str | None]:
        return {n: k.refusal(layer, model.causal, 0.0) for n, k in KERNELS.items()}

    return ["the first legal one that takes a batch computes it", *_tables(exhibit, refusals)]


def _tables(
    exhibit: Exhibit, refusals: Callable[[PositionScheme], dict[str, str | None]]
) -> list[str]:
    def in_layer(layer: PositionScheme) -> str:
        told = refusals(layer)
        width = max(map(len, told))
        return "\n".join(f"{n.ljust(width)}  {why or 'legal'}" for n, why in told.items())

    texts = exhibit.by_layer(in_layer)
    return texts if len(texts) == 1 else [text.replace(": ", ":\n", 1) for text in texts]


def limits(exhibit: Exhibit) -> list[str]:
    """What the scheme declares, in words."""
    scheme = exhibit.scheme
    shift = "changes nothing" if scheme.shift_invariant else "counts"
    pieces = "may not be taken in pieces" if scheme.length_dependent else "may be taken in pieces"
    told = {
        "max_length": "any" if scheme.max_length is None else f"{scheme.max_length} positions",
        "shift_invariant": f"adding a constant to all positions {shift}",
        "length_dependent": f"a sequence {pieces}",
    }
    in_layers: dict[str, Callable[[PositionScheme], str]] = {
        "window": lambda layer: _or(layer.window, "all keys", "{} keys, the token itself included"),
        "chunk": lambda layer: _or(layer.chunk, "none", "{} positions"),
        "saturates_at": lambda layer: _or(layer.saturates_at, "never", "from distance {} on"),
        "logit_scale": lambda layer: _or(layer.logit_scale, "1/sqrt(d_head)", "{:g}"),
    }
    told |= {key: "; ".join(exhibit.by_layer(text)) for key, text in in_layers.items()}
    width = max(map(len, told))
    return [f"{key.ljust(width)}  {text}" for key, text in told.items()]


def expected_failures(exhibit: Exhibit) -> list[str]:
    """The checks that it declares to fail, each with the reason."""
    return [f"{check}: {why}" for check, why in exhibit.spec.expected_failures.items()]


def provenance(exhibit: Exhibit) -> list[str]:
    """Distribution, version, file and what was built."""
    dims = exhibit.dims
    return [
        f"{exhibit.origin}, {source.source_file(exhibit.spec) or exhibit.origin.module}",
        f"built for d_model {dims.d_model}, {dims.n_heads} heads on {dims.n_kv_heads} key/value "
        f"heads, {dims.n_layers} layers, training length {dims.context_length}, "
        f"{'causal' if dims.causal else 'bidirectional'}, {exhibit.model.attention} attention",
    ]


#: In the order of the page.
SECTIONS: dict[str, Callable[[Exhibit], list[str]]] = {
    "what it is": idea,
    "parameters": parameters,
    "trained parameters": trained,
    "acts on": methods,
    "attention": attention,
    "kernels": kernels,
    "limits": limits,
    "cache": cache,
    "checks it is known to fail": expected_failures,
    "where it is from": provenance,
    "what it does": drawing,
}


def _or(value: float | None, absent: str, present: str) -> str:
    return absent if value is None else present.format(value)


def _type_name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def _default(field: dataclasses.Field) -> str:
    made = field.default_factory
    return _shown(field.default if made is dataclasses.MISSING else made())


def _shown(value: object) -> str:
    return "must be set" if value == MISSING else "null" if value is None else str(value)
