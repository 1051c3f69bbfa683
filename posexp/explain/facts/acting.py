"""Where a scheme acts: the change that it makes at each place, on standard normal inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch

from posexp.explain.facts.fact import Fact, change
from posexp.explain.meeting import Meeting, heads, remapped, standard_normal
from posexp.explain.study import Kind, Study
from posexp.scheme import PositionScheme
from posexp.testing.compare import NOISE, gap


@dataclass(frozen=True)
class Acting:
    """The largest absolute change of each thing; `hidden` keys, of all `pairs` that are visible."""

    positions: float
    input: float
    queries: float
    keys: float
    logits: float
    hidden: int
    pairs: int
    output: float

    @property
    def anywhere(self) -> bool:
        """Whether anything changes at all."""
        changes = (self.positions, self.input, self.queries, self.keys, self.logits, self.output)
        return self.hidden > 0 or max(changes) > NOISE


@lru_cache(maxsize=256)
@torch.no_grad()
def acting(study: Study, kind: Kind) -> Acting:
    """Measured at `study.sample`, with parameters `moved`.

    Every method is called, whether or not the scheme says that it has it.
    """
    scheme, dims = study.moved, study.dims
    layer = scheme.for_layer(kind.number)
    there = remapped(scheme, study.up_to(study.trained_length))
    positions = there[study.sample]
    x, other = standard_normal(dims, 1, len(positions))
    q, k = heads(x, dims.n_heads, dims), heads(x, dims.n_kv_heads, dims)
    inside = Meeting.of(PositionScheme(dims=dims), layer, dims, x, other, positions)
    visible = torch.ones(inside.scores.shape[-2:], dtype=torch.bool)
    if dims.causal:
        visible = visible.tril()
    visible = visible.expand_as(inside.scores)
    seen = visible & (inside.scores != -torch.inf)
    return Acting(
        positions=gap(there, torch.arange(len(there))),
        input=gap(scheme.embed(x, positions), x),
        queries=gap(layer.transform_query(q, positions), q),
        keys=gap(layer.transform_key(k, positions), k),
        logits=gap(inside.scores[seen], inside.content[seen]) if seen.any() else 0.0,
        hidden=int((visible & ~seen).sum()) // dims.n_heads,
        pairs=int(visible.sum()) // dims.n_heads,
        output=gap(inside.out, inside.summed),
    )


LOGITS = frozenset({"distance_slopes", "distance_bias", "distance_keys", "bias", "adjust_scores"})
OUTPUT = frozenset({"distance_values", "adjust_output"})
HIDING = frozenset({"window", "chunk", "mask", "adjust_scores"})


def _fact(
    study: Study, methods: frozenset[str], size: Callable[[Acting], float], what: str
) -> Fact:
    """Whether one thing changes, in each kind of layer, against the methods that say so."""
    declared, conflicts = {}, []
    for kind in study.kinds:
        layer = study.moved.for_layer(kind.number)
        # What acts before the first layer is the whole scheme's.
        acts_on = layer.acts_on | (study.moved.acts_on & {"embed", "remap_positions"})
        named = sorted(acts_on & methods)
        declared[kind] = ", ".join(named) or "nothing here"
        changed = size(acting(study, kind)) > NOISE
        if named and not changed and "adjust_scores" not in named:
            conflicts.append(f"it says that it acts on {declared[kind]}, and changes no {what}")
        if changed and not named:
            conflicts.append(f"it does not say that it acts here, and changes {what}")
    return Fact(
        study.by_kind(lambda kind: change(size(acting(study, kind)))),
        study.by_kind(declared.__getitem__),
        "; ".join(dict.fromkeys(conflicts)),
    )


def positions(study: Study) -> Fact:
    """Whether tokens are put elsewhere."""
    return _fact(study, frozenset({"remap_positions"}), lambda a: a.positions, "positions")


def inputs(study: Study) -> Fact:
    """Whether the input of the first layer changes."""
    return _fact(study, frozenset({"embed"}), lambda a: a.input, "input")


def queries(study: Study) -> Fact:
    """Whether queries are transformed."""
    return _fact(study, frozenset({"transform_query"}), lambda a: a.queries, "queries")


def keys(study: Study) -> Fact:
    """Whether keys are transformed."""
    return _fact(study, frozenset({"transform_key"}), lambda a: a.keys, "keys")


def logits(study: Study) -> Fact:
    """Whether logits get anything beside the product of (transformed) queries and keys."""
    return _fact(study, LOGITS, lambda a: a.logits, "logits")


def values(study: Study) -> Fact:
    """Whether the output is anything but the values, weighted."""
    return _fact(study, OUTPUT, lambda a: a.output, "output")


def hiding(study: Study) -> Fact:
    """Which keys a query does not see, beside the future."""

    def measured(kind: Kind) -> str:
        found = acting(study, kind)
        if not found.hidden:
            return "every key is seen"
        return f"{found.hidden:,} of {found.pairs:,} pairs hidden"

    def declared(kind: Kind) -> str:
        layer = study.moved.for_layer(kind.number)
        if layer.window is not None:
            return f"a window of {layer.window} keys"
        if layer.chunk is not None:
            return f"chunks of {layer.chunk} positions"
        return ", ".join(sorted(layer.acts_on & HIDING)) or "nothing here"

    conflicts = []
    for kind in study.kinds:
        layer, hidden = study.moved.for_layer(kind.number), acting(study, kind).hidden
        if hidden and not layer.acts_on & HIDING:
            conflicts.append("it does not say that it hides keys, and does")
        if layer.acts_on & HIDING <= {"window", "chunk"} and hidden != _outside(study, layer):
            conflicts.append(f"its span hides {_outside(study, layer):,} of these pairs")
    return Fact(study.by_kind(measured), study.by_kind(declared), "; ".join(conflicts))


def _outside(study: Study, layer: PositionScheme) -> int:
    """The pairs of the measured positions that a window or chunks alone hide."""
    positions = remapped(study.moved, study.up_to(study.trained_length))[study.sample]
    q, k = positions[:, None], positions[None, :]
    far = torch.zeros(len(positions), len(positions), dtype=torch.bool)
    if layer.window is not None:
        far |= (q - k).abs() >= layer.window
    if layer.chunk is not None:
        far |= q // layer.chunk != k // layer.chunk
    return int((far.tril() if study.dims.causal else far).sum())
