"""Hybrid: a pattern of local (L) and global (G) layers, each kind with its scheme and its span.

    layer i (from 0) is of the kind  pattern[i mod len(pattern)]

`LLLG` makes layers 3, 7, 11, ... global. A window of W means W visible keys, the token itself
included; in chunks of C positions a query sees the keys of its own chunk; null means all keys. The
schemes of the two kinds are chosen as everywhere in Hydra:

    posexp train scheme=hybrid scheme@scheme.local=alibi scheme.pattern=LG scheme.local_window=64

A kind owns its parameters, shared by the layers of that kind (two tables for t5 in both). The
default is NoPE with full attention every fourth layer and RoPE in a window elsewhere; the presets
`gemma3`, `cohere2`, `llama4` and `smollm3` are the patterns of those models. The window of 32 is a
quarter of the default training length T = 128: while training, a window of T or more would be no
window at all.

Gemma Team 2025, "Gemma 3 Technical Report"; Yang et al. 2025, "Rope to Nope and Back Again: A New
Hybrid Attention Strategy"; Meta 2025, "The Llama 4 herd" (iRoPE).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from posexp import (
    AttentionDims,
    PositionScheme,
    SchemeSpec,
    build_scheme,
    hookimpl,
    with_span,
)

KINDS = {"L": "local", "G": "global_"}


def _defaults() -> list[Any]:
    # _self_ comes first: the names in `local` and `global_` below give way to the user's choice.
    return ["_self_", {"/scheme@local": "rope"}, {"/scheme@global_": "nope"}]


@dataclass
class HybridConfig:
    """The pattern, and a scheme and a window or chunks for each kind. Raises `ValueError`.

    `global_` has its underscore because `global` is a word of Python's.
    """

    defaults: list[Any] = field(default_factory=_defaults)
    pattern: str = "LLLG"
    local_window: int | None = 32  # visible keys, the token itself included; null = all
    global_window: int | None = None
    local_chunk: int | None = None  # positions of a chunk, in place of a window
    global_chunk: int | None = None
    local: Any = field(default_factory=lambda: {"name": "rope"})
    global_: Any = field(default_factory=lambda: {"name": "nope"})

    def __post_init__(self) -> None:
        if set(self.pattern) != set(KINDS):
            raise ValueError(
                f"hybrid: a pattern is made of L (local) and G (global) and needs both, as LLLG; "
                f"got {self.pattern!r}"
            )
        for kind in ("local", "global"):
            window, chunk = getattr(self, f"{kind}_window"), getattr(self, f"{kind}_chunk")
            if window is not None and window < 1:
                raise ValueError(
                    f"hybrid: {kind}_window counts visible keys, the token itself included: at "
                    f"least 1, or null for all; got {window}"
                )
            if chunk is not None and chunk < 1:
                raise ValueError(
                    f"hybrid: {kind}_chunk counts positions: at least 1, or null; got {chunk}"
                )
            if window is not None and chunk is not None:
                raise ValueError(
                    f"hybrid: {kind}_window={window} and {kind}_chunk={chunk} do not go together; "
                    f"set one of them to null"
                )


class Hybrid(PositionScheme, container=True):
    """Another scheme for every layer: ask `for_layer`; as a whole it acts on nothing itself.

    Raises `ValueError` if the pattern leaves out a kind in this many layers, or if a part acts
    where layers cannot differ.
    """

    def __init__(self, config: HybridConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        kinds = [config.pattern[i % len(config.pattern)] for i in range(dims.n_layers)]
        if missing := set(KINDS) - set(kinds):
            least = max(config.pattern.index(kind) for kind in KINDS) + 1
            raise ValueError(
                f"hybrid: the pattern {config.pattern} has no {' and no '.join(sorted(missing))} "
                f"in {dims.n_layers} layers; use n_layers >= {least} or a shorter pattern"
            )
        self.kinds = kinds
        self.parts = nn.ModuleDict(
            {
                "local": with_span(
                    _part("local", config.local, dims), config.local_window, config.local_chunk
                ),
                "global_": with_span(
                    _part("global_", config.global_, dims),
                    config.global_window,
                    config.global_chunk,
                ),
            }
        )
        parts = list(self.parts.values())
        self.shift_invariant = all(part.shift_invariant for part in parts)
        self.length_dependent = any(part.length_dependent for part in parts)
        self.steady_until = min((p.steady_until for p in parts if p.length_dependent), default=0)
        lengths = [part.max_length for part in parts if part.max_length is not None]
        self.max_length = min(lengths, default=None)

    def for_layer(self, layer: int) -> PositionScheme:
        """The scheme of one layer, counted from 0, with its span and its logit scale."""
        return self.parts[KINDS[self.kinds[layer]]].for_layer(layer)

    @property
    def acts_on(self) -> frozenset[str]:
        """What any of the layers' schemes acts on."""
        return frozenset().union(*(part.acts_on for part in self.parts.values()))


def _part(key: str, choice: Any, dims: AttentionDims) -> PositionScheme:
    if not isinstance(choice, Mapping) or "name" not in choice:
        raise ValueError(f"hybrid: scheme.{key} must be a scheme with its name, got {choice!r}")
    name = choice["name"]
    if name == "hybrid":
        raise ValueError(f"hybrid: scheme.{key} is a hybrid again; write one longer pattern")
    part = build_scheme(choice, dims)
    for method in ("remap_positions", "embed"):
        if method in part.acts_on:
            raise ValueError(
                f"hybrid: {name} cannot be scheme.{key}: it acts on {method}, once before the "
                f"first layer, so layers cannot differ in it; use scheme={name} for all layers, or "
                "a scheme that acts inside attention (alibi, nope, rope, shaw, t5)"
            )
    return part


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("hybrid", HybridConfig, Hybrid)]
