"""Schemes combined: several at once, and a span on top of any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from posexp.dims import AttentionDims
from posexp.scheme import PositionScheme


class Compose(PositionScheme, container=True):
    """Schemes that act one after the other; NoPE is the identity.

    Transforms are chained, biases and distance vectors added, masks ANDed; the window and the
    maximum length are the smallest. Shift-invariant if every part is.

    Raises `ValueError` if two parts ask for different logit scales or chunks.
    """

    def __init__(self, *schemes: PositionScheme) -> None:
        super().__init__(dims=next((s.dims for s in schemes if s.dims is not None), None))
        self.logit_scale = _only("logit scales", (s.logit_scale for s in schemes))
        self.chunk = _only("chunks", (s.chunk for s in schemes))
        self.schemes = nn.ModuleList(schemes)
        self.shift_invariant = all(s.shift_invariant for s in schemes)
        self.length_dependent = any(s.length_dependent for s in schemes)
        self.steady_until = min((s.steady_until for s in schemes if s.length_dependent), default=0)
        self.max_length = _smallest(s.max_length for s in schemes)
        self.window = _smallest(s.window for s in schemes)
        by_distance = [s for s in schemes if any("distance" in name for name in s.acts_on)]
        saturations = [s.saturates_at for s in by_distance]
        if saturations and None not in saturations:
            self.saturates_at = max(saturations)

    def for_layer(self, layer: int) -> PositionScheme:
        parts = [s.for_layer(layer) for s in self.schemes]
        same = all(part is whole for part, whole in zip(parts, self.schemes, strict=True))
        return self if same else Compose(*parts)

    @property
    def acts_on(self) -> frozenset[str]:
        return frozenset().union(*(s.acts_on for s in self.schemes))

    def remap_positions(self, positions: Tensor) -> Tensor:
        for scheme in self.schemes:
            positions = scheme.remap_positions(positions)
        return positions

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        for scheme in self.schemes:
            x = scheme.embed(x, positions)
        return x

    def transform_query(self, q: Tensor, positions: Tensor) -> Tensor:
        for scheme in self.schemes:
            q = scheme.transform_query(q, positions)
        return q

    def transform_key(self, k: Tensor, positions: Tensor) -> Tensor:
        for scheme in self.schemes:
            k = scheme.transform_key(k, positions)
        return k

    def distance_slopes(self, device: torch.device) -> Tensor | None:
        return self._total(lambda s: s.distance_slopes(device))

    def distance_bias(self, n: Tensor) -> Tensor | None:
        return self._total(lambda s: s.distance_bias(n))

    def distance_keys(self, n: Tensor) -> Tensor | None:
        return self._total(lambda s: s.distance_keys(n))

    def distance_values(self, n: Tensor) -> Tensor | None:
        return self._total(lambda s: s.distance_values(n))

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        return self._total(lambda s: s.bias(q_positions, k_positions))

    def mask(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        masks = [s.mask(q_positions, k_positions) for s in self.schemes]
        masks = [m for m in masks if m is not None]
        return None if not masks else torch.stack(torch.broadcast_tensors(*masks)).all(0)

    def adjust_scores(
        self, scores: Tensor, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor
    ) -> Tensor:
        for scheme in self.schemes:
            scores = scheme.adjust_scores(scores, q, k, q_positions, k_positions)
        return scores

    def adjust_output(
        self, out: Tensor, weights: Tensor, q_positions: Tensor, k_positions: Tensor
    ) -> Tensor:
        for scheme in self.schemes:
            out = scheme.adjust_output(out, weights, q_positions, k_positions)
        return out

    def _total(self, form: Callable[[PositionScheme], Tensor | None]) -> Tensor | None:
        terms = [term for term in map(form, self.schemes) if term is not None]
        return sum(terms[1:], terms[0]) if terms else None


class SlidingWindow(PositionScheme):
    """A window of W visible keys, the token itself included: |query - key| < W.

    Raises `ValueError` if W < 1.
    """

    def __init__(self, window: int, dims: AttentionDims | None = None) -> None:
        super().__init__(dims=dims)
        if window < 1:
            raise ValueError(f"a window needs at least 1 key (the token itself), got {window}")
        self.window = window


class Chunked(PositionScheme):
    """Chunks of N positions: a query sees the keys of its own, floor(position / N) being the same.

    The first token of a chunk sees itself alone. Meta 2025, Llama 4. Raises `ValueError` if N < 1.
    """

    shift_invariant = False

    def __init__(self, chunk: int, dims: AttentionDims | None = None) -> None:
        super().__init__(dims=dims)
        if chunk < 1:
            raise ValueError(f"a chunk needs at least 1 position, got {chunk}")
        self.chunk = chunk


class Spanned(Compose, container=True):
    """A scheme, and the window or the chunks it is seen through."""


def with_span(
    scheme: PositionScheme, window: int | None = None, chunk: int | None = None
) -> PositionScheme:
    """`scheme` seen through a window of keys or in chunks; unchanged for neither (full attention).

    Raises `ValueError` for both, and if a layer of the scheme already sets its own span: this one
    would act on some layers and not on others without saying so.
    """
    if window is None and chunk is None:
        return scheme
    if window is not None and chunk is not None:
        raise ValueError(f"a window ({window}) and chunks ({chunk}): a span is one of the two")
    n_layers = scheme.dims.n_layers if scheme.dims else 1
    reaches = [scheme.for_layer(i).reach for i in range(n_layers)]
    if any(reach is not None for reach in reaches):
        shown = ", ".join("full" if reach is None else str(reach) for reach in reaches)
        raise ValueError(
            f"{type(scheme).__name__} sets a span for each layer itself ({shown}); "
            "use span=full and change the scheme's own windows"
        )
    span = Chunked(chunk, scheme.dims) if window is None else SlidingWindow(window, scheme.dims)
    return Spanned(scheme, span)


def _only(what: str, values: Iterable[float | None]) -> Any:
    """The one value that is asked for, or None. Raises `ValueError` where two differ."""
    present = {v for v in values if v is not None}
    if len(present) > 1:
        raise ValueError(f"composed schemes ask for different {what}: {sorted(present)}")
    return next(iter(present), None)


def _smallest(values: Iterable[int | None]) -> int | None:
    present = [v for v in values if v is not None]
    return min(present, default=None)
