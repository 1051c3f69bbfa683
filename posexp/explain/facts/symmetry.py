"""What a scheme leaves as it is: shifted positions, and tokens in another order."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from posexp.explain.facts.acting import acting
from posexp.explain.facts.fact import Fact, off
from posexp.explain.meeting import Meeting, standard_normal
from posexp.explain.study import Kind, Study
from posexp.testing.compare import NOISE, gap
from posexp.testing.subject import logits

#: Tokens that are moved, and those that are put in another order at most: a span may be as long.
TOKENS, LONGEST = 24, 256
#: Places that all positions move by: a few, of which float32 loses nothing, and very many, which
#: find what changes only beyond some length.
NEAR, FAR = (1, 7, 100), 10_000
#: At a far position float32 angles have lost digits: less is no effect there.
FAR_NOISE = 1e-2


@dataclass(frozen=True)
class Shift:
    """How far scores are off when all positions move by `near` and by `far` (0: cannot be moved).

    A number that all keys of a query share is lost in the softmax, so it is taken out of `near_off`
    and `far_off`; `constant` is what was taken out, at most.
    """

    near: int
    near_off: float
    far: int
    far_off: float
    constant: float

    @property
    def invariant(self) -> bool:
        """Whether a shift changes nothing that the softmax can see."""
        return self.near_off <= NOISE and self.far_off <= FAR_NOISE


@torch.no_grad()
def shift(study: Study, kind: Kind) -> Shift:
    """Measured on the scores of TOKENS random q and k."""
    scheme, dims = study.moved, study.dims
    layer = scheme.for_layer(kind.number)
    tokens = study.up_to(TOKENS)
    x = standard_normal(dims, 4, tokens)
    positions = scheme.remap_positions(torch.arange(tokens))

    def scores(by: int) -> torch.Tensor:
        moved = scheme.remap_positions(torch.arange(tokens) + by) if by else positions
        return Meeting.of(scheme, layer, dims, *x, moved).scores

    limit = study.up_to(FAR + tokens)
    near = [by for by in NEAR if by + tokens <= limit]
    far = FAR if FAR + tokens <= limit else 0
    still = scores(0)
    found = {by: _apart(scores(by), still) for by in (*near, far) if by}
    return Shift(
        near=max(near, default=0),
        near_off=max((found[by][0] for by in near), default=0.0),
        far=far,
        far_off=found[far][0] if far else 0.0,
        constant=max((c for _, c in found.values()), default=0.0),
    )


def _apart(moved: torch.Tensor, still: torch.Tensor) -> tuple[float, float]:
    """The difference beyond a number for each query, and the largest such number."""
    seen = still != -torch.inf
    if not torch.equal(seen, moved != -torch.inf):
        return float("inf"), 0.0
    difference = torch.where(seen, moved - still, 0.0)
    constant = difference.sum(-1, keepdim=True) / seen.sum(-1, keepdim=True).clamp(min=1)
    rest = torch.where(seen, difference - constant, 0.0)
    return rest.abs().max().item(), constant.abs().max().item()


def distance_only(study: Study) -> Fact:
    """Whether scores depend on the distance of query and key alone."""
    found = {kind: shift(study, kind) for kind in study.kinds}

    def measured(kind: Kind) -> str:
        shifted = found[kind]
        if not shifted.near:
            return f"it defines too few positions to move {TOKENS} tokens"
        answer = "yes" if shifted.invariant else "no"
        parts = [f"{off(shifted.near_off)} when all move up to {shifted.near} places"]
        if shifted.far:
            parts.append(f"{off(shifted.far_off)} at {shifted.far:,}")
        text = f"{answer}: scores are off {', '.join(parts)}"
        if shifted.constant > FAR_NOISE and shifted.invariant:
            text += f", and {off(shifted.constant)} alike for all keys of a query, which is lost"
        return text

    declared = study.moved.shift_invariant
    conflict = ""
    if any(s.near for s in found.values()):
        invariant = all(s.invariant for s in found.values())
        if declared and not invariant:
            conflict = "it declares shift_invariant = True, and scores change when all move"
        if not declared and invariant:
            conflict = "it declares shift_invariant = False, and no shift changes the scores"
    return Fact(study.by_kind(measured), f"shift_invariant = {declared}", conflict)


@dataclass(frozen=True)
class Permutation:
    """How far the permuted output is off from the output of the permuted input, as a share."""

    without_mask: float | None
    causal: float | None
    refusal: str = ""


@torch.no_grad()
def permutation(study: Study) -> Permutation:
    """Measured on the whole model with random tokens; None where it refuses such a mask."""
    found: dict[bool, float | None] = {}
    refusal = ""
    for causal in (False, True):
        try:
            model = study.model(causal)
        except ValueError as error:
            found[causal], refusal = None, str(error)
            continue
        generator = torch.Generator().manual_seed(0)
        vocabulary = model.embedding.num_embeddings
        length = study.up_to(min(study.trained_length, LONGEST))
        tokens = torch.randint(vocabulary, (2, length), generator=generator)
        order = torch.randperm(tokens.shape[1], generator=generator)
        expected = logits(model, tokens)[:, order]
        largest = expected.abs().max().item()
        found[causal] = gap(logits(model, tokens[:, order]), expected) / largest
    return Permutation(found[False], found[True], refusal)


def equivariant(study: Study) -> Fact:
    """Whether tokens in another order give the same outputs in that order, without a mask."""
    found = permutation(study)
    if found.without_mask is None:
        return Fact(f"it needs a causal mask: {found.refusal}")
    blind = found.without_mask <= NOISE
    answer = "yes, it is blind to order" if blind else "no"
    conflict = ""
    acts = bool(study.moved.acts_on)
    # A window may be longer than all that was looked at: then it does nothing here.
    if blind and any(acting(study, kind).anywhere for kind in study.kinds):
        conflict = "it acts, and no order of the tokens makes a difference"
    if not blind and not acts:
        conflict = "it acts on nothing, and the order of the tokens makes a difference"
    return Fact(
        f"{answer}: outputs are off {off(found.without_mask)}",
        "it acts, so it should not be" if acts else "it acts on nothing, so it should be",
        conflict,
    )


def causal_mask(study: Study) -> Fact:
    """What a causal mask does to that."""
    found = permutation(study)
    if found.causal is None:
        return Fact(f"it needs attention in both directions: {found.refusal}")
    breaks = found.causal > NOISE
    answer = "the mask itself tells positions apart" if breaks else "it changes nothing"
    return Fact(f"{answer}: outputs are off {off(found.causal)}")
