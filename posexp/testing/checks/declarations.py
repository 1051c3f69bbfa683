"""What a scheme declares about itself is true, and it does something."""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model import Transformer
from posexp.scheme import PositionScheme
from posexp.testing.check import CheckFailure, NotApplicable, check
from posexp.testing.compare import NOISE, TOLERANCE, explained, gap, holds, in_a_line
from posexp.testing.outcomes import outcomes
from posexp.testing.subject import Subject, logits

#: How many times the training length the checks look.
FURTHEST = 8
#: A longer sequence than this is not worth its time here.
LONGEST = 512
#: What all that follows rests on.
FOUNDATIONS = ("other_instances_do_not_disturb",)


@check(needs=FOUNDATIONS)
def changes_the_output(subject: Subject) -> None:
    """A scheme that acts on something changes the logits, once its parameters are not zero."""
    scheme = subject.scheme()
    if not scheme.acts_on:
        raise NotApplicable("it acts on nothing: this is NoPE")
    _sees_others(subject, scheme)
    tokens = subject.tokens(2, 24)
    without = logits(subject.model(scheme=PositionScheme(dims=subject.dims)), tokens)
    measured = gap(logits(subject.model(), tokens), without)
    holds(
        measured > NOISE,
        f"the logits are those of NoPE (within {measured:.2g}) although it acts on "
        f"{', '.join(sorted(scheme.acts_on))}. A bias that is equal for all keys of a query does "
        "nothing: is the sign of the distance right (query - key, so the past is positive)?",
    )


def _sees_others(subject: Subject, scheme: PositionScheme) -> None:
    positions = torch.arange(24)
    for layer in range(subject.dims.n_layers):
        part = scheme.for_layer(layer)
        visible = part.mask(positions, positions)
        if visible is None or part.window == 1:
            continue
        past = visible.tril(-1) if subject.dims.causal else visible & ~torch.eye(24, dtype=bool)
        holds(
            bool(past.any()),
            f"with the mask of layer {layer}, a query sees nothing but itself: is the sign of the "
            "distance right (query - key, so the past is positive)?",
        )


@check(needs=FOUNDATIONS)
def max_length_as_declared(subject: Subject) -> None:
    """Positions below max_length work and differ; beyond it is a ValueError, never a clamp."""
    model = subject.model()
    acts_on, limit, length = model.scheme.acts_on, model.max_length, subject.dims.context_length
    if limit is None:
        for factor in (1, 2, FURTHEST):
            _finite(model, subject.tokens(1, factor * length), "max_length is None")
        _no_clamp(subject, length)
        return
    if limit <= LONGEST:
        _finite(model, subject.tokens(1, limit), f"max_length is {limit}")
    if not acts_on & {"embed", "transform_query", "transform_key"}:
        raise NotApplicable("it acts on no absolute position; the model refuses longer sequences")
    tokens = subject.tokens(1, 8)
    with explained(
        f"positions {limit - 8} to {limit - 1}",
        f"It declares max_length = {limit}: does it define as many?",
    ):
        logits(model, tokens, positions=torch.arange(limit - 8, limit))
    try:
        logits(subject.model(), tokens, positions=torch.arange(limit - 7, limit + 1))
    except ValueError as error:
        if str(limit) not in str(error):
            raise CheckFailure(
                f"the error for position {limit} hides max_length={limit}: {error}"
            ) from None
        return
    except Exception as error:
        raise CheckFailure(
            f"position {limit} raised {in_a_line(error)}. Beyond max_length={limit}, "
            "raise ValueError that names it"
        ) from error
    raise CheckFailure(
        f"position {limit} gives a result although max_length={limit}: raise ValueError; a clamped "
        "or wrapped position looks like an answer and is none. If it is defined, declare more"
    )


def _finite(model: Transformer, tokens: Tensor, declared: str) -> None:
    length = tokens.shape[-1]
    what = f"{length} tokens"
    cause = f"{declared}: either define so many positions, or declare how many there are."
    with explained(what, cause):
        found = logits(model, tokens)
    undefined = int((~found.isfinite()).sum())
    holds(
        undefined == 0,
        f"{what} give {undefined} of {found.numel()} logits that are no number. {cause}",
    )


def _no_clamp(subject: Subject, length: int) -> None:
    positions = torch.arange(length - 4, length + 8)
    for (method, layer), value in outcomes(subject.scheme(), subject.dims, positions).items():
        if method not in ("embed", "transform_query", "transform_key"):
            continue  # distances may saturate
        steps = value.diff(dim=-2).abs().amax(dim=(*range(value.ndim - 2), -1))
        moves = steps.nonzero().flatten().tolist()
        # A clamp moves at every step, and then never again. A function in steps stands still before
        # it moves, and what is alike everywhere acts on something else.
        if 0 < len(moves) < len(steps) and moves == list(range(len(moves))):
            at = int(positions[len(moves)])
            raise CheckFailure(
                f"{method} (layer {layer}) gives positions {at} and {at + 1} the same vector, "
                f"around the training length {length}: are positions clamped? Define them, or "
                "declare max_length and raise ValueError"
            )


@check(needs=FOUNDATIONS)
def saturates_at_as_declared(subject: Subject) -> None:
    """From saturates_at on, every distance function gives what it gives there."""
    scheme, furthest = subject.scheme(), FURTHEST * subject.dims.context_length
    parts = [scheme.for_layer(layer) for layer in range(subject.dims.n_layers)]
    if all(part.saturates_at is None for part in parts):
        raise NotApplicable("no layer declares saturates_at")
    for layer, part in enumerate(parts):
        start = part.saturates_at
        if start is None:
            continue
        n = torch.arange(start, max(start + 2, part.max_length or start + furthest))
        forms = {
            "distance_bias": part.distance_bias(n),
            "distance_keys": part.distance_keys(n),
            "distance_values": part.distance_values(n),
        }
        for method, value in forms.items():
            if value is None:
                continue
            by_distance = value.detach().movedim(-1 if method == "distance_bias" else -2, 0)
            off = (by_distance - by_distance[:1]).abs().flatten(1).amax(dim=1)
            wrong = (off > TOLERANCE).nonzero()
            if len(wrong):
                at = int(wrong[0])
                raise CheckFailure(
                    f"{method} (layer {layer}) at distance {start + at} is off by {off[at]:.3g} "
                    f"from that at {start}, although saturates_at = {start}: from there on all "
                    "distances must be one. Declare a later distance, or none"
                )
