"""Angles and biases keep float32, whatever the dtype of the model around them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from unittest.mock import patch

import torch
from torch import Tensor

from posexp.model import Transformer
from posexp.testing.check import CheckFailure, check
from posexp.testing.compare import explained, holds, same
from posexp.testing.outcomes import ACTIVATIONS, outcomes
from posexp.testing.subject import Subject, logits

FAR = (255, 256, 257, 1857)
#: Half a unit in the last place of bfloat16, relative: what storing an activation costs.
ROUNDING = 2.0**-8
WATCHED = ("embed", "distance_slopes", "distance_bias", "distance_keys", "distance_values", "bias")


@check(needs=("max_length_as_declared",))
def positions_in_float32(subject: Subject) -> None:
    """After .bfloat16(), far positions are within 1e-2 of float64 and told apart."""
    in_bfloat16 = subject.scheme().bfloat16()
    in_float32, reference = subject.scheme(), subject.scheme()
    with torch.no_grad():  # the parameters are rounded in all three, what follows from them is not
        for scheme in (in_float32, reference):
            for parameter in scheme.parameters():
                parameter.copy_(parameter.bfloat16())
    reference.double()
    limit = in_bfloat16.max_length
    far = [p for p in FAR if limit is None or p < limit]
    positions = torch.tensor([0, 1, *(far if len(far) > 2 else range(limit - 4, limit))])
    dims = subject.dims
    found = outcomes(in_bfloat16, dims, positions, torch.bfloat16)
    exact = outcomes(reference, dims, positions, torch.float64)
    single = outcomes(in_float32, dims, positions, torch.float32)
    for (method, layer), value in found.items():
        if method == "mask":
            continue
        what, expected = f"{method} (layer {layer})", exact[method, layer]
        if method == "bias":
            holds(
                value.dtype in (torch.float32, torch.float64),
                f"{what} is {value.dtype} in a bfloat16 model: compute it in float32",
            )
        allowed = 1e-2 + ROUNDING * expected.abs() * (value.dtype == torch.bfloat16)
        error = (value.double() - expected.double()).abs()
        if not (error <= allowed).all():
            at = [int(p) for p in positions]
            raise CheckFailure(
                f"{what} in a bfloat16 model is off by {error.max():.3g} at positions among {at}: "
                "bfloat16 holds no integer beyond 256. Compute angles and biases in float32 "
                "(positions.float()), keep no float buffer that .bfloat16() rounds, and round only "
                "the result"
            )
        if method in ACTIVATIONS:
            _told_apart(what, positions, value, single[method, layer])


def _told_apart(what: str, positions: Tensor, value: Tensor, single: Tensor) -> None:
    if torch.equal(single.select(-2, 0), single.select(-2, 1)):
        return  # not a function of position on these inputs
    for t in range(1, len(positions) - 1):
        first, second = single.select(-2, t), single.select(-2, t + 1)
        # A value beyond 256 has no neighbour in bfloat16: storing it is then what merges the two.
        merged_by_storing = torch.equal(first.bfloat16(), second.bfloat16())
        apart = not torch.equal(value.select(-2, t), value.select(-2, t + 1))
        holds(
            not torch.equal(first, second) and (apart or merged_by_storing),
            f"{what} cannot tell positions {int(positions[t])} and {int(positions[t + 1])} apart: "
            "compute angles in float32 (positions.float()), whatever the dtype of the input",
        )


@check(needs=("positions_in_float32",))
def autocast_leaves_positions_alone(subject: Subject) -> None:
    """Under bfloat16 autocast, biases and position vectors are bitwise those without it."""
    model, tokens = subject.model(), subject.tokens(2, 24)
    plain, cast = _watched(model, tokens, False), _watched(model, tokens, True)
    for what, value in plain.items():
        holds(
            cast[what].dtype == value.dtype,
            f"{what} is {cast[what].dtype} under bfloat16 autocast, {value.dtype} without",
        )
        cause = "Autocast is off where schemes are called: is a dtype asked for by hand?"
        same(cast[what], value, f"{what} under bfloat16 autocast", cause, 0.0)


def _watched(model: Transformer, tokens: Tensor, autocast: bool) -> dict[str, Tensor]:
    """What the model's scheme, and that of each layer, gave during one forward pass."""
    layers = [model.scheme.for_layer(i) for i in range(model.dims.n_layers)]
    seen: dict[str, Tensor] = {}

    def watch(name: str, method: Callable[..., Tensor | None]) -> Callable[..., Tensor | None]:
        def watched(*arguments: object) -> Tensor | None:
            value = method(*arguments)
            if value is not None:
                seen.setdefault(name, value)
            return value

        return watched

    with ExitStack() as patches:
        patches.enter_context(patch.object(model.scheme, "for_layer", layers.__getitem__))
        for i, scheme in enumerate(dict.fromkeys([model.scheme, *layers])):
            for name in WATCHED:
                watched = watch(f"{name} of scheme {i}", getattr(scheme, name))
                patches.enter_context(patch.object(scheme, name, watched))
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits(model, tokens)
    return seen


@check(needs=("positions_in_float32", "state_dict_round_trips"))
def half_and_back(subject: Subject) -> None:
    """A model that went through .half() loses the last digits of its parameters, nothing else."""
    tokens = subject.tokens(2, 24)
    reference = subject.model()
    with torch.no_grad():
        for parameter in reference.parameters():
            parameter.copy_(parameter.half())
    expected = logits(reference, tokens)
    returned = subject.model().half().float()
    cause = (
        "A table in a buffer is rounded with the model: compute it where it is used, or keep it "
        "out of _apply."
    )
    same(logits(returned, tokens), expected, "the logits after .half().float()", cause, 1e-6)
    fresh = subject.model(seed=1)
    with explained("loading the state dict of .half().float() into a fresh model", cause):
        fresh.load_state_dict(returned.state_dict())
    same(logits(fresh, tokens), expected, "a fresh model with that state dict", cause, 1e-6)
