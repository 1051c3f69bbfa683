"""What becomes of earlier tokens when the sequence grows: may their keys be kept?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from posexp.explain.facts.fact import Fact, off
from posexp.explain.meeting import heads, remapped, standard_normal
from posexp.explain.study import Study
from posexp.loading import told
from posexp.testing.checks.decoding import decode
from posexp.testing.compare import NOISE, gap
from posexp.testing.subject import logits

#: Tokens that are decoded one by one.
DECODED = 24


@dataclass(frozen=True)
class Growth:
    """The change of inputs, positions and keys of the first tokens when the sequence grows.

    `within` T, from T/2 to T tokens; and `beyond`, from T to `reach` (0 where it defines no more).
    """

    within: float
    beyond: float
    reach: int


@torch.no_grad()
def growth(study: Study) -> Growth:
    """The largest change over all layers, with random inputs that stay the same."""
    length = study.up_to(study.trained_length)
    reach = study.up_to(2 * study.trained_length)
    half = max(1, length // 2)
    grown = reach if reach > length else 0
    x, _ = standard_normal(study.dims, 1, reach)
    within = _changed(study, x, half, length)
    return Growth(within, _changed(study, x, length, grown) if grown else 0.0, grown)


def _changed(study: Study, x: Tensor, before: int, after: int) -> float:
    short, long = _stored(study, x[:, :before]), _stored(study, x[:, :after])
    return max(gap(b[..., :before, :], a) for a, b in zip(short, long, strict=True))


def _stored(study: Study, x: Tensor) -> list[Tensor]:
    """The positions, the input of the first layer, and every layer's keys: (..., T, n) each."""
    scheme, dims = study.moved, study.dims
    positions = remapped(scheme, x.shape[1])
    k = heads(x, dims.n_kv_heads, dims)
    layers = [scheme.for_layer(kind.number).transform_key(k, positions) for kind in study.kinds]
    return [positions[:, None].double(), scheme.embed(x, positions), *layers]


def cached_keys(study: Study) -> Fact:
    """Whether keys that were computed once stay valid when the sequence grows."""
    found, scheme = growth(study), study.moved
    steady = scheme.steady_until if scheme.length_dependent else None
    changed = max(found.within, found.beyond) > NOISE
    length = study.trained_length
    grown = [f"from {length // 2:,} to {length:,} tokens"]
    grown += [f"from {length:,} to {found.reach:,}"] if found.reach else []
    if changed:
        sizes = zip(grown, (found.within, found.beyond), strict=False)
        text = "no: off " + ", ".join(f"{off(size)} when it grows {how}" for how, size in sizes)
    else:
        text = f"yes: the same when it grows {' and '.join(grown)}"
    conflict = ""
    if steady is None and changed:
        conflict = "it does not declare length_dependent, and earlier tokens change"
    elif steady is not None and not changed and found.reach > steady:
        conflict = "it declares length_dependent, and earlier tokens stay as they were"
    elif steady is not None and steady >= length and found.within > NOISE:
        conflict = f"it declares to be steady until {steady} tokens, and changes before"
    declared = "length_dependent = False"
    if steady is not None:
        declared = f"length_dependent = True, steady until {steady} tokens"
    return Fact(text, declared, conflict)


@torch.no_grad()
def decoding(study: Study) -> Fact:
    """What a cache makes of tokens that come one by one, against one pass over all of them."""
    if not study.dims.causal:
        return Fact("attention in both directions is not decoded")
    model, dependent = study.model(), study.moved.length_dependent
    tokens = torch.randint(
        model.embedding.num_embeddings,
        (2, study.up_to(DECODED)),
        generator=torch.Generator().manual_seed(0),
    )
    declared = "a cache may refuse beyond its steady length" if dependent else "the same result"
    try:
        found = decode(model, tokens, (1,) * tokens.shape[1])
    except ValueError as error:
        return Fact(
            f"refused: {error}", declared, "" if dependent else "it declares nothing that refuses"
        )
    except Exception as error:
        return Fact(f"it raised {told(error)}", declared, "decoding with a cache fails")
    measured = gap(found, logits(model, tokens))
    conflict = "" if measured <= NOISE else "decoding gives another result than one pass"
    return Fact(f"{tokens.shape[1]} tokens, one at a time: off {off(measured)}", declared, conflict)
