"""What decoding keeps of the tokens it has seen: new ones cost no second look at old ones.

    cache = Cache()
    model(prompt, cache=cache)      # any number of tokens in a call
    model(token, cache=cache)       # the logits of the new ones only

Shapes: B batch, T new tokens, S tokens held, G key/value heads, d head width.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from posexp.dims import AttentionDims
from posexp.model.layout import Layout
from posexp.scheme import PositionScheme

if TYPE_CHECKING:
    from posexp.model.layer import AttentionLayer


class Memory:
    """The keys and values (B, G, S, d) that one layer holds, or what it makes both of.

    Keys are held as the layer's transform made them. Where transforms change with the length
    (`length_dependent`), they are held as projected, and all are transformed at every call.
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self._grown: tuple[Tensor, Tensor] | None = None
        self._most: int | None = None

    @property
    def length(self) -> int:
        """S."""
        return 0 if self.keys is None else self.keys.shape[2]

    @property
    def nbytes(self) -> int:
        """The size of what is held, in bytes."""
        return sum(x.nbytes for x in (self.keys, self.values) if x is not None)

    def seen_by(self, layout: Layout) -> Layout:
        """The layout of a call's queries on all keys, cut down to the keys that are held here."""
        n_queries, n_keys = layout.q_positions.shape[-1], layout.k_positions.shape[-1]
        held = self.length + n_queries
        return layout if held == n_keys else layout.tile(0, n_queries, n_keys - held, n_keys)

    def extend(
        self,
        k: Tensor,
        v: Tensor,
        scheme: PositionScheme,
        layout: Layout,
        transform_key: Callable[[Tensor, Tensor], Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Keys, transformed, and values (B, G, S + T, d) for `layout`; k and v are the new ones."""
        if not scheme.length_dependent:
            k = transform_key(k, layout.q_positions)
        if self.keys is not None:
            k, v = torch.cat((self.keys, k), dim=2), torch.cat((self.values, v), dim=2)
        self._grown = k, v
        # A reach is one of positions: only where they are consecutive is it one of keys.
        bounded = scheme.reach is not None and layout.consecutive
        self._most = scheme.reach - 1 if bounded else None
        return (transform_key(k, layout.k_positions) if scheme.length_dependent else k), v

    def commit(self) -> None:
        """Hold what the last `extend` made, up to what a later query can still see."""
        first = 0 if self._most is None else max(0, self._grown[0].shape[2] - self._most)
        self.keys, self.values = (x[:, :, first:] for x in self._grown)
        self._grown = None


class Cache:
    """Keys and values of every layer, and the positions and realness of the tokens they came from.

    Decoding in pieces of any size equals one pass over the whole, or raises `ValueError`. Layers
    with a window or chunks of W hold W - 1 tokens between calls.

    stale
        Beyond `steady_until` a length-dependent scheme changes with every token, and with it what
        the layers above the first would have made of the earlier ones. True accepts what they made
        at the time: the literature's way to decode (Peng et al. 2023, YaRN, section 3.3). The
        result is then that of no single pass.
    """

    def __init__(self, *, stale: bool = False) -> None:
        self.stale = stale
        #: Tokens seen, padding included.
        self.length = 0
        #: Real tokens seen: one number, or (B,) where rows differ.
        self.count: int | Tensor = 0
        self.layers: dict[int, Memory] = {}
        self._rows: int | None = None
        self._positions: Tensor | None = None  # (S,) or (B, S), S the most that a layer holds
        self._real: Tensor | None = None  # (B, S)

    @property
    def nbytes(self) -> int:
        """The size of what all layers hold, in bytes."""
        return sum(layer.nbytes for layer in self.layers.values())

    def memory(self, number: int, layer: AttentionLayer) -> Memory:
        """What the layer of that number holds, made by it at the first call."""
        if number not in self.layers:
            self.layers[number] = layer.new_memory()
        return self.layers[number]

    def check(
        self, scheme: PositionScheme, tokens: Tensor, real: Tensor | None, *, sums: bool = False
    ) -> None:
        """Raise `ValueError` where `tokens` cannot go on from what is held: keys, or sums of them.

        Keys that are held can be transformed again as the length changes, what is summed cannot.
        """
        if self._rows not in (None, len(tokens)):
            raise ValueError(f"the cache holds {self._rows} rows, and {len(tokens)} are to go on")
        if real is not None:
            self._check_padding(real)
        if not scheme.length_dependent:
            return
        name = type(scheme).__name__
        if reason := refusal(scheme):
            raise ValueError(f"{name} {reason}; run the whole sequence instead")
        accepted = self.stale and not sums
        if self.length == 0 or accepted or self.length + tokens.shape[1] <= scheme.steady_until:
            return
        longest = longest_row(tokens, real, self.count)
        if longest > scheme.steady_until:
            raise ValueError(
                f"{name} changes with the length beyond {scheme.steady_until} tokens, and this "
                f"sequence has {longest}: decoding from a cache would not equal the full pass; "
                "run the whole sequence"
                + ("" if sums else ", or accept the difference with Cache(stale=True)")
            )

    def _check_padding(self, real: Tensor) -> None:
        seen = torch.as_tensor(self.count, device=real.device).reshape(-1, 1) > 0
        before = torch.cat((seen.expand(len(real), 1), real[:, :-1]), dim=1)
        late = (before & ~real).any(dim=1)
        if late.any():
            raise ValueError(
                f"row {int(late.nonzero()[0])} has padding behind a token: a cache needs it all on "
                "the left, so that the next token stands beside the last"
            )

    def new_tokens(self, tokens: Tensor, real: Tensor | None) -> Layout:
        """The new tokens (B, T) among themselves, at positions counted on from those held."""
        layout = Layout.of_tokens(tokens, real=real)
        if self.length == 0:
            return layout
        before = self.count[:, None] if isinstance(self.count, Tensor) else self.count
        positions = layout.q_positions + before
        return dataclasses.replace(layout, q_positions=positions, k_positions=positions)

    def joined(self, new: Layout) -> Layout:
        """The queries of `new` on the keys held and their own."""
        if self._positions is None:
            return new
        held, own = self._positions, new.k_positions
        rows = self._rows
        if held.ndim != own.ndim:
            held, own = (x.expand(rows, -1) for x in (held, own))
        real = None
        if self._real is not None or new.real_keys is not None:
            real = torch.cat([
                torch.ones(rows, x.shape[-1], dtype=torch.bool, device=x.device) if r is None else r
                for x, r in ((held, self._real), (own, new.real_keys))
            ], dim=1)  # fmt: skip
        return dataclasses.replace(new, k_positions=torch.cat((held, own), dim=-1), real_keys=real)

    def commit(self, tokens: Tensor, real: Tensor | None, layout: Layout) -> None:
        """Hold `tokens`, which every layer has now seen; nothing is held of a call that raised."""
        for layer in self.layers.values():
            layer.commit()
        most = max(layer.length for layer in self.layers.values())
        first = layout.k_positions.shape[-1] - most
        self._positions = layout.k_positions[..., first:]
        self._real = None if layout.real_keys is None else layout.real_keys[:, first:]
        self._rows, new = tokens.shape
        self.length += new
        self.count = self.count + (new if real is None else real.sum(-1))


def refusal(scheme: PositionScheme) -> str | None:
    """Why no cache can serve a scheme, said of it; or None."""
    at_input = sorted(scheme.acts_on & {"embed", "remap_positions"})
    if not (scheme.length_dependent and at_input):
        return None
    return (
        f"depends on the length of the sequence and acts on {at_input[0]}: each token added "
        "changes all others, so nothing can be cached"
    )


def longest_row(tokens: Tensor, real: Tensor | None, before: int | Tensor = 0) -> int:
    """The real tokens of the longest row (B, T), counting the `before` that it held already."""
    rows = before + (tokens.shape[1] if real is None else real.sum(-1))
    return int(rows.max()) if isinstance(rows, Tensor) else rows


def bytes_per_token(dims: AttentionDims, dtype: torch.dtype = torch.float32) -> int:
    """What one layer holds of one token: a key and a value for each key/value head."""
    return 2 * dims.n_kv_heads * dims.d_head * dtype.itemsize
