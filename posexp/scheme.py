"""The central contract: what a position scheme can do to attention.

Shapes: B batch, T query positions, S key positions, D model width, H query heads, d head width,
N distances. A distance is n = query position - key position; negative means the future.

The methods form a ladder from the most to the least structured. A scheme overrides only where it
differs from NoPE, as far up as its equation can be written: the further up, the faster it runs,
and no author has to know a kernel.

| acts on         | method                                | shape                                  |
|-----------------|---------------------------------------|----------------------------------------|
| positions       | `remap_positions(positions)`          | (..., T) -> same                       |
| the input       | `embed(x, positions)`                 | (B, T, D) -> same                      |
| queries, keys   | `transform_query`, `transform_key`    | (B, heads, T, d) -> same               |
| key distance    | `distance_slopes(device)`             | (H,): bias = -slope |n|                |
| distance        | `distance_bias(n)`                    | (N,) -> (H, N)                         |
| distance        | `distance_keys(n)`, `distance_values` | (N,) -> (H or 1, N, d)                 |
| distance        | `window`                              | keys visible, the token itself included|
| both positions  | `chunk`                               | keys visible: those of its own chunk   |
| both positions  | `bias(q_positions, k_positions)`      | (..., T), (..., S) -> (..., H, T, S)   |
| both positions  | `mask(q_positions, k_positions)`      | (..., T), (..., S) -> (..., T, S) bool |
| scores          | `adjust_scores(scores, ...)`          | (B, H, T, S) -> same                   |
| weights         | `adjust_output(out, weights, ...)`    | (B, H, T, d) -> same                   |

The general forms default to the distance forms, so the dense result is always defined: the eager
kernel is the definition and every fast kernel is held to it.

Positions are always passed in and count real tokens: a scheme never calls `arange` over tokens.
Queries arrive scaled by `logit_scale` (with model.qk_norm=after they are scaled behind the norm,
and linear attention has no scale); scores arrive masked with -inf. Compute angles and biases in
float32 or better. Keep no table that depends on the length of a call.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from posexp.dims import AttentionDims

ACTIONS = (
    "remap_positions",
    "embed",
    "transform_query",
    "transform_key",
    "distance_slopes",
    "distance_bias",
    "distance_keys",
    "distance_values",
    "window",
    "chunk",
    "bias",
    "mask",
    "adjust_scores",
    "adjust_output",
)

#: The actions that are numbers, and not methods.
SPANS = ("window", "chunk")


class PositionScheme(nn.Module):
    """The identity, which is NoPE: override only where a scheme acts.

    Declarations, checked by `posexp.testing`:

    shift_invariant
        Adding a constant to all positions leaves the output as it is.
    length_dependent
        The result for a token depends on the length of the sequence it stands in, so a sequence
        cannot be processed in pieces. A cache then holds keys before `transform_key`, and refuses
        to go on where `embed` or `remap_positions` could depend on the length.
    steady_until
        The length up to which a length-dependent scheme does not change yet.
    max_length
        The number of positions that are defined, or None for no limit.
    window
        The number of keys that a query sees, itself included (|n| < window), or None for all.
    chunk
        The number of positions in a chunk, or None: a query sees the keys whose position has the
        same floor(position / chunk).
    saturates_at
        A distance from which on the distance functions give what they give there, or None. It buys
        a faster kernel.
    logit_scale
        The factor on queries, or None for 1/sqrt(d_head).
    """

    shift_invariant: bool = True
    length_dependent: bool = False
    steady_until: int = 0
    max_length: int | None = None
    window: int | None = None
    chunk: int | None = None
    saturates_at: int | None = None
    logit_scale: float | None = None

    def __init__(self, config: Any = None, dims: AttentionDims | None = None) -> None:
        super().__init__()
        self.config = config
        self.dims = dims

    def __init_subclass__(cls, container: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        forms = [
            name
            for name in ("distance_slopes", "distance_bias", "bias")
            if getattr(cls, name) is not getattr(PositionScheme, name)
        ]
        # A container forwards every form to its parts, so the rule is theirs.
        if len(forms) > 1 and not container:
            raise TypeError(
                f"{cls.__name__} overrides {' and '.join(forms)}: they are forms of one bias, "
                f"each derived from the one before; keep only {forms[0]}"
            )

    # -- structure ---------------------------------------------------------------------------

    def for_layer(self, layer: int) -> PositionScheme:
        """The scheme of one layer, counted from 0. Parameters are shared over layers by default."""
        return self

    @property
    def acts_on(self) -> frozenset[str]:
        """The names of the contract's methods that this scheme overrides."""
        overridden = {
            name
            for name in ACTIONS
            if name not in SPANS and getattr(type(self), name) is not getattr(PositionScheme, name)
        }
        return frozenset(overridden | {name for name in SPANS if getattr(self, name) is not None})

    @property
    def reach(self) -> int | None:
        """The distance at which no key is visible any more, by `window` or `chunk`; or None."""
        return min((n for n in (self.window, self.chunk) if n is not None), default=None)

    def init_parameter(self, name: str, parameter: Tensor, generator: torch.Generator) -> None:
        """Draw one of this scheme's own parameters in place; N(0, 0.02) by default.

        Called without gradients, once per parameter, with a generator keyed by (seed, name).
        """
        parameter.normal_(0.0, 0.02, generator=generator)

    # -- functions of position ---------------------------------------------------------------

    def remap_positions(self, positions: Tensor) -> Tensor:
        """Replace the positions once per forward pass (..., T) -> (..., T)."""
        return positions

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Add positions to the input of the first layer (B, T, D) -> (B, T, D)."""
        return x

    def transform_query(self, q: Tensor, positions: Tensor) -> Tensor:
        """Transform the queries (B, H, T, d) at `positions`, (T,) or (B, T)."""
        return q

    def transform_key(self, k: Tensor, positions: Tensor) -> Tensor:
        """Transform the keys (B, n_kv_heads, S, d) at `positions`, (S,) or (B, S)."""
        return k

    # -- functions of distance ---------------------------------------------------------------

    def distance_slopes(self, device: torch.device) -> Tensor | None:
        """Slopes (H,) of a bias that is linear in distance: bias = -slope * |n|, float32."""
        return None

    def distance_bias(self, n: Tensor) -> Tensor | None:
        """What is added to the logits at distance n: (N,) -> (H, N), float32."""
        slopes = self.distance_slopes(n.device)
        return None if slopes is None else -slopes[:, None] * n.abs()

    def distance_keys(self, n: Tensor) -> Tensor | None:
        """Vectors added to the keys at distance n: (N,) -> (H or 1, N, d)."""
        return None

    def distance_values(self, n: Tensor) -> Tensor | None:
        """Vectors added to the values at distance n: (N,) -> (H or 1, N, d)."""
        return None

    # -- functions of both positions ---------------------------------------------------------

    def bias(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """What is added to the logits: (..., T), (..., S) -> (..., H, T, S), float32."""
        n = q_positions[..., :, None] - k_positions[..., None, :]
        by_distance = self.distance_bias(n.flatten())
        if by_distance is None:
            return None
        return by_distance.unflatten(-1, n.shape).movedim(0, -3)

    def mask(self, q_positions: Tensor, k_positions: Tensor) -> Tensor | None:
        """Which keys are visible, True = attend: (..., T), (..., S) -> (..., T, S).

        Causality and padding are the model's and always apply as well.
        """
        q, k = q_positions[..., :, None], k_positions[..., None, :]
        near = None if self.window is None else (q - k).abs() < self.window
        if self.chunk is None:
            return near
        same = q.div(self.chunk, rounding_mode="floor") == k.div(self.chunk, rounding_mode="floor")
        return same if near is None else near & same

    # -- functions of scores -----------------------------------------------------------------

    def adjust_scores(
        self, scores: Tensor, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor
    ) -> Tensor:
        """Change the logits (B, H, T, S), masked with -inf, before the softmax.

        Multiplied with those -inf, a parameter gets a NaN gradient: `torch.where` them out first.
        """
        return scores

    def adjust_output(
        self, out: Tensor, weights: Tensor, q_positions: Tensor, k_positions: Tensor
    ) -> Tensor:
        """Change the output (B, H, T, d), given the attention weights (B, H, T, S)."""
        return out
