"""Where the queries and keys of one forward pass stand, said by the caller.

T query positions, S key positions, B batch. The caller states what it knows (padding, documents,
whether position differences equal index differences), so no kernel inspects tensors to find out.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """Positions of queries and keys, and which of them may meet.

    q_positions, k_positions
        (T,) and (S,), or (B, T) and (B, S) where rows differ. They count real tokens.
    real_keys
        (B, S) bool, False = padding; None if every key is a token.
    q_documents, k_documents
        (B, T) and (B, S): a query sees only keys of its own document; None for one document.
    consecutive
        For every visible pair, the position difference equals the index difference. True for plain,
        left-padded and packed rows; False for remapped positions.
    keys_after
        How many keys stand after the last query; 0 where the two end together.
    """

    q_positions: Tensor
    k_positions: Tensor
    causal: bool = True
    real_keys: Tensor | None = None
    q_documents: Tensor | None = None
    k_documents: Tensor | None = None
    consecutive: bool = True
    keys_after: int = 0

    @classmethod
    def of_tokens(
        cls,
        tokens: Tensor,
        *,
        causal: bool = True,
        real: Tensor | None = None,
        documents: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Layout:
        """The layout of a whole sequence attending to itself.

        `real` (B, T) marks tokens that are not padding: positions then count real tokens from 0.
        `documents` (B, T) numbers the documents of packed rows; give their restarting `positions`.
        Other `positions`, (T,) or (B, T), are taken as remapped: not consecutive.
        """
        consecutive = positions is None or documents is not None
        if positions is None:
            if documents is not None:
                raise ValueError("packed documents need their positions, restarting in each")
            if real is None:
                positions = torch.arange(tokens.shape[-1], device=tokens.device)
            else:
                positions = (real.long().cumsum(-1) - 1).clamp(min=0)
        return cls(positions, positions, causal, real, documents, documents, consecutive)

    @property
    def is_square(self) -> bool:
        """One document, no padding, as many queries as keys, whatever their positions."""
        same = self.q_positions.shape[-1] == self.k_positions.shape[-1]
        return same and self.keys_after == 0 and not self.needs_rows

    @property
    def is_plain(self) -> bool:
        """Square, and positions in order."""
        return self.is_square and self.consecutive

    @property
    def needs_rows(self) -> bool:
        """Whether visibility differs between the rows of a batch."""
        return self.real_keys is not None or self.q_documents is not None

    def distance(self) -> Tensor:
        """n = query - key position: (T, S), or (B, T, S) where rows differ."""
        return self.q_positions[..., :, None] - self.k_positions[..., None, :]

    def index_difference(self) -> Tensor:
        """Query minus key index (T, S)."""
        n_queries, n_keys = self.q_positions.shape[-1], self.k_positions.shape[-1]
        queries = torch.arange(n_queries, device=self.k_positions.device)
        keys = torch.arange(n_keys, device=self.k_positions.device)
        return queries[:, None] + (n_keys - self.keys_after - n_queries) - keys

    def tile(self, start: int, stop: int, first_key: int, last_key: int) -> Layout:
        """The queries numbered `start` to `stop`, and the keys `first_key` to `last_key`."""
        n_queries, n_keys = self.q_positions.shape[-1], self.k_positions.shape[-1]
        rows, columns = slice(start, stop), slice(first_key, last_key)
        after = self.keys_after + (n_queries - stop) - (n_keys - last_key)

        def part(x: Tensor | None, span: slice) -> Tensor | None:
            return None if x is None else x[..., span]

        return Layout(
            self.q_positions[..., rows],
            self.k_positions[..., columns],
            self.causal,
            part(self.real_keys, columns),
            part(self.q_documents, rows),
            part(self.k_documents, columns),
            self.consecutive,
            after,
        )

    def visible(self, scheme_mask: Tensor | None = None) -> Tensor | None:
        """True = attend: (T, S) or (B, 1, T, S); None if everything is visible.

        Causality, padding and documents always apply, and `scheme_mask` as well.
        """
        # By index, not by position: remapped positions may stand still or even go back.
        visible = self.index_difference() >= 0 if self.causal else None
        if scheme_mask is not None:
            visible = scheme_mask if visible is None else visible & scheme_mask
        if self.q_documents is not None:
            same = self.q_documents[:, :, None] == self.k_documents[:, None, :]
            visible = same if visible is None else visible & same
        if self.real_keys is not None:
            real = self.real_keys[:, None, :]
            visible = real if visible is None else visible & real
        if visible is not None and visible.ndim == 3:
            visible = visible[:, None]
        return visible
