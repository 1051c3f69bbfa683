"""What a scheme declares about itself is true, and it does something."""

from __future__ import annotations

import difflib

import torch

from posexp.scheme import ACTIONS, PositionScheme
from posexp.testing.check import CheckFailure, NotApplicable, check
from posexp.testing.compare import NOISE, gap, holds
from posexp.testing.outcomes import outcomes
from posexp.testing.subject import Subject, logits

#: What all that follows rests on.
FOUNDATIONS = ("other_instances_do_not_disturb",)


@check(needs=FOUNDATIONS)
def changes_the_output(subject: Subject) -> None:
    """A scheme that acts on something changes the logits, once its parameters are not zero."""
    scheme = subject.scheme()
    own = {name for kind in type(scheme).__mro__[:-1] for name in vars(kind)}
    for name in sorted(own - set(dir(PositionScheme))):
        near = difflib.get_close_matches(name, ACTIONS, n=1, cutoff=0.8)
        holds(not near, f"the contract has no method {name}: did you mean {near}?")
    if not scheme.acts_on:
        raise NotApplicable("it acts on nothing: this is NoPE")
    tokens = subject.tokens(2, 24)
    without = logits(subject.model(scheme=PositionScheme(dims=subject.dims)), tokens)
    measured = gap(logits(subject.model(), tokens), without)
    holds(
        measured > NOISE,
        f"the logits are those of NoPE (within {measured:.2g}) although it acts on "
        f"{', '.join(sorted(scheme.acts_on))}. A bias that is equal for all keys of a query does "
        "nothing: is the sign of the distance right (query - key, so the past is positive)?",
    )


@check(needs=FOUNDATIONS)
def max_length_as_declared(subject: Subject) -> None:
    """Positions below max_length work and differ; beyond it is a ValueError, never a clamp."""
    model = subject.model()
    acts_on, limit, length = model.scheme.acts_on, model.max_length, subject.dims.context_length
    if limit is None:
        found = logits(model, subject.tokens(1, 3 * length))
        holds(
            bool(found.isfinite().all()),
            f"max_length is None, and {3 * length} tokens give infinite or undefined logits",
        )
        _no_clamp(subject, length)
        return
    if not acts_on & {"embed", "transform_query", "transform_key"}:
        raise NotApplicable("it acts on no absolute position; the model refuses longer sequences")
    tokens = subject.tokens(1, 8)
    logits(model, tokens, positions=torch.arange(limit - 8, limit))
    try:
        logits(subject.model(), tokens, positions=torch.arange(limit - 7, limit + 1))
    except ValueError as error:
        if str(limit) not in str(error):
            raise CheckFailure(
                f"the error for position {limit} hides max_length: {error}"
            ) from None
        return
    raise CheckFailure(
        f"position {limit} gives a result although max_length={limit}: raise ValueError; a clamped "
        "or wrapped position looks like an answer and is none"
    )


def _no_clamp(subject: Subject, length: int) -> None:
    positions = torch.arange(length - 4, length + 8)
    for (method, layer), value in outcomes(subject.scheme(), subject.dims, positions).items():
        if method not in ("embed", "transform_query", "transform_key"):
            continue  # distances may saturate
        steps = value.diff(dim=-2).abs().amax(dim=(*range(value.ndim - 2), -1))
        stuck = (steps == 0).nonzero().flatten().tolist()
        if stuck and len(stuck) < len(steps):  # alike everywhere: it acts on something else
            at = int(positions[stuck[0]])
            raise CheckFailure(
                f"{method} (layer {layer}) gives positions {at} and {at + 1} the same vector, "
                f"around the training length {length}: are positions clamped? Define them, or "
                "declare max_length and raise ValueError"
            )
