"""What decoding with a scheme takes, for its page."""

from __future__ import annotations

import torch

from posexp.catalogue.exhibit import Exhibit
from posexp.model.cache import bytes_per_token, refusal
from posexp.scheme import PositionScheme


def cache(exhibit: Exhibit) -> list[str]:
    """The bytes that a cache holds of one token in one layer, and what bounds their number."""
    scheme, dims = exhibit.scheme, exhibit.dims
    if not dims.causal:
        return ["none: bidirectional attention is not decoded"]
    if reason := refusal(scheme):
        return [f"none: it {reason}"]
    sizes = (
        f"{bytes_per_token(dims, dtype)} ({str(dtype).removeprefix('torch.')})"
        for dtype in (torch.float32, torch.bfloat16)
    )
    lines = [f"bytes per token and layer: {' or '.join(sizes)}"]
    # A window is one of positions: where they are remapped, it says nothing about tokens.
    remapped = "remap_positions" in scheme.acts_on

    def bound(layer: PositionScheme) -> str:
        if layer.window is None or remapped:
            return "every token is held"
        return f"the last {layer.window - 1} tokens are held: a window of {layer.window}"

    lines += exhibit.by_layer(bound)
    if scheme.length_dependent:
        lines.append(
            f"keys are held untransformed; beyond {scheme.steady_until} tokens decoding differs "
            "from the full pass, and must be asked for: Cache(stale=True)"
        )
    return lines
