"""What decoding with a scheme takes, for its page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from posexp.catalogue.exhibit import Exhibit
from posexp.model.cache import refusal
from posexp.model.variants import KINDS
from posexp.scheme import PositionScheme

DTYPES = (torch.float32, torch.bfloat16)


def cache(exhibit: Exhibit) -> list[str]:
    """The bytes that a cache holds of one token in one layer, and what bounds their number."""
    scheme, model, kind = exhibit.scheme, exhibit.model, KINDS[exhibit.model.attention]
    if not model.causal:
        return ["none: bidirectional attention is not decoded"]
    if reason := refusal(scheme):
        return [f"none: it {reason}"]
    if any(kind.refusal(model, layer) for layer in exhibit.layers):
        return [f"none: {model.attention} attention cannot serve it"]
    held = [kind.bytes_held(model, dtype) for dtype in DTYPES]
    if kind.sums:
        sizes = _sizes([fixed for _, fixed in held])
        lines = [f"bytes per layer, whatever the number of tokens: {sizes}"]
    else:
        sizes = _sizes([per_token for per_token, _ in held])
        lines = [f"bytes per token and layer: {sizes}", *exhibit.by_layer(_bound(scheme))]
    if scheme.length_dependent and kind.sums:
        lines.append(f"refused beyond {scheme.steady_until} tokens: sums are not transformed again")
    elif scheme.length_dependent:
        lines.append(
            f"keys are held untransformed; beyond {scheme.steady_until} tokens decoding differs "
            "from the full pass, and must be asked for: Cache(stale=True)"
        )
    return lines


def _sizes(held: Sequence[int]) -> str:
    names = (str(dtype).removeprefix("torch.") for dtype in DTYPES)
    return " or ".join(f"{size} ({name})" for size, name in zip(held, names, strict=True))


def _bound(scheme: PositionScheme) -> Callable[[PositionScheme], str]:
    # A span is one of positions: where they are remapped, it says nothing about tokens.
    remapped = "remap_positions" in scheme.acts_on

    def bound(layer: PositionScheme) -> str:
        if layer.reach is None or remapped:
            return "every token is held"
        span = "a window" if layer.reach == layer.window else "chunks"
        return f"the last {layer.reach - 1} tokens are held: {span} of {layer.reach}"

    return bound
