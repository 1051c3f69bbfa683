"""CoPE: a position is a count of the tokens in between that this query finds worth counting.

    g_it = sigmoid(q_i . k_t / sqrt(d))                     a gate for each visible key t
    p_ij = min(g_ij + ... + g_ii, N - 1)                    both ends included
    logit(i, j) = (q_i . k_j + q_i . e[p_ij]) / sqrt(d)     e of a fraction: between its neighbours

e is a table (N, d) for each layer, shared by its heads; it starts at zero, so training starts from
NoPE. q, k and d are those of a head. The sum runs from the key to the query, so attention must be
causal. This is a function of scores, which no fused kernel holds.

Golovneva et al. 2024, "Contextual Position Encoding: Learning to Count What's Important", and
`context_position.py` of its code.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from posexp import AttentionDims, PositionScheme, SchemeSpec, hookimpl


@dataclass
class CopeConfig:
    """The number N of positions in the table. Raises `ValueError` below 2."""

    positions: int | None = None  # null: the training length + 1, as in the authors' code

    def __post_init__(self) -> None:
        if self.positions is not None and self.positions < 2:
            raise ValueError(f"cope: positions must be at least 2, got {self.positions}")


class CopeLayer(PositionScheme):
    """CoPE in one layer."""

    def __init__(self, config: CopeConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        self.table = nn.Parameter(
            torch.zeros(config.positions or dims.context_length + 1, dims.d_head)
        )

    def init_parameter(self, name: str, parameter: Tensor, generator: torch.Generator) -> None:
        """Zero."""
        parameter.zero_()

    def adjust_scores(
        self, scores: Tensor, q: Tensor, k: Tensor, q_positions: Tensor, k_positions: Tensor
    ) -> Tensor:
        """Add q . e[p] to the scores (B, H, T, S)."""
        # A masked score is -inf: its gate is 0 and so is the gate's gradient, with no NaN.
        gates = scores.sigmoid()
        p = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=len(self.table) - 1)
        # Queries come scaled by 1/sqrt(d), so these need no factor.
        whole = q @ self.table.type_as(q).mT  # (B, H, T, N)
        below = p.floor()
        share = p - below
        at_floor, at_ceiling = (whole.gather(-1, x.long()) for x in (below, p.ceil()))
        return scores + at_floor * (1 - share) + at_ceiling * share


class Cope(PositionScheme):
    """A `CopeLayer` for each layer. Raises `ValueError` for bidirectional attention."""

    def __init__(self, config: CopeConfig, dims: AttentionDims) -> None:
        super().__init__(config, dims)
        if not dims.causal:
            raise ValueError(
                "cope counts from a key to a later query, so it needs causal attention: "
                "model.causal=true"
            )
        self.layers = nn.ModuleList(CopeLayer(config, dims) for _ in range(dims.n_layers))

    def for_layer(self, layer: int) -> PositionScheme:
        """The scheme of one layer, counted from 0, with a table of its own."""
        return self.layers[layer]

    @property
    def acts_on(self) -> frozenset[str]:
        """What its layers act on."""
        return self.layers[0].acts_on


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("cope", CopeConfig, Cope)]
