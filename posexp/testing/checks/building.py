"""What a scheme is once it is built: its shapes, its tensors and its initial values."""

from __future__ import annotations

import difflib
import math

import torch
from torch import Tensor, nn

from posexp.scheme import ACTIONS, PositionScheme
from posexp.testing.check import check
from posexp.testing.compare import explained, holds, same
from posexp.testing.outcomes import ACTIVATIONS, Inputs, outcomes
from posexp.testing.subject import Subject

#: What each declaration may be.
DECLARATIONS = {
    "shift_invariant": "True or False",
    "length_dependent": "True or False",
    "steady_until": "a whole number from 0 on",
    "max_length": "a whole number from 1 on, or None",
    "window": "a whole number from 1 on, or None",
    "chunk": "a whole number from 1 on, or None",
    "saturates_at": "a whole number from 1 on, or None",
    "logit_scale": "a positive number, or None",
}


@check()
def builds(subject: Subject) -> None:
    """The scheme builds, alone and in a model."""
    cause = f"It must build from its config for {subject.dims}."
    with explained("building the scheme", cause):
        scheme = subject.spec.build(subject.config, subject.dims)
    holds(
        isinstance(scheme, PositionScheme),
        f"build gave a {type(scheme).__name__}: it must give a posexp.PositionScheme",
    )
    with explained("building a model with the scheme", cause):
        subject.model()


@check(needs=("builds",))
def declarations_are_well_formed(subject: Subject) -> None:
    """Declarations are of their kind, none is misspelt, and the training length is defined."""
    scheme, length = subject.scheme(), subject.dims.context_length
    own = {name for kind in type(scheme).__mro__[:-1] for name in vars(kind)}
    for name in sorted(own - set(dir(PositionScheme))):
        of_its_kind = ACTIONS if callable(getattr(type(scheme), name)) else DECLARATIONS
        near = difflib.get_close_matches(name, of_its_kind, n=1, cutoff=0.8)
        holds(
            not near,
            f"the contract has no {name}, and nothing reads it: did you mean {''.join(near)}?",
        )
    parts = {f" of layer {i}": scheme.for_layer(i) for i in range(subject.dims.n_layers)}
    for where, part in {"": scheme, **parts}.items():
        for name, expected in DECLARATIONS.items():
            value = getattr(part, name)
            holds(
                _of_its_kind(name, value),
                f"{name}{where} is {value!r} ({type(value).__name__}), expected {expected}",
            )
    limit = scheme.max_length
    holds(
        limit is None or limit >= length,
        f"max_length is {limit}, fewer positions than context_length={length} of the dims: "
        "derive it from dims.context_length, or check the scheme with dims that it can serve",
    )


def _of_its_kind(name: str, value: object) -> bool:
    if name in ("shift_invariant", "length_dependent"):
        return isinstance(value, bool)
    if name == "steady_until":
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if value is None:
        return True
    kinds = (int, float) if name == "logit_scale" else (int,)
    if isinstance(value, bool) or not isinstance(value, kinds):
        return False
    return 0 < value < math.inf


@check(needs=("declarations_are_well_formed",))
def shapes_and_dtypes(subject: Subject) -> None:
    """Every method gives the contract's shape and keeps the dtype of the activations it is given.

    For positions (T,) and (B, T), in float32 and bfloat16.
    """
    dims = subject.dims
    cause = (
        "Compare its shapes with the table in posexp.scheme: a table indexed on the wrong axis, "
        "or heads and tokens confused, looks like this."
    )
    for dtype in (torch.float32, torch.bfloat16):
        scheme = subject.scheme().to(dtype)
        for positions in (torch.arange(5), torch.arange(6).repeat(2, 1)):
            rows = tuple(positions.shape[:-1])
            length = positions.shape[-1]
            given = f"positions {tuple(positions.shape)}, {dtype}"
            inputs = Inputs.of(dims, 2, length, dtype)
            with explained(f"the scheme with {given}", cause):
                found = outcomes(scheme, dims, positions, dtype)
            expected = {
                "embed": tuple(inputs.x.shape),
                "transform_query": tuple(inputs.q.shape),
                "transform_key": tuple(inputs.k.shape),
                "bias": (*rows, dims.n_heads, length, length),
                "mask": (*rows, length, length),
                "distance_keys": (dims.n_heads, length, dims.d_head),
                "distance_values": (dims.n_heads, length, dims.d_head),
            }
            for (method, _), value in found.items():
                shape, wanted = tuple(value.shape), expected[method]
                fits = shape == wanted or (
                    method.startswith("distance") and shape == (1, *wanted[1:])
                )
                holds(fits, f"{method} gives {shape} for {given}, expected {wanted}. {cause}")
                if method in ACTIVATIONS:
                    holds(
                        value.dtype == dtype,
                        f"{method} turns {dtype} activations into {value.dtype}: compute in "
                        "float32 and end with .type_as(its input)",
                    )
                if method == "mask":
                    holds(
                        value.dtype == torch.bool,
                        f"mask gives {value.dtype}, expected bool with True = attend",
                    )


@check(needs=("shapes_and_dtypes",))
def tensors_are_registered(subject: Subject) -> None:
    """Every tensor that the scheme holds is a parameter or a buffer, so that it moves with it."""
    scheme = subject.spec.build(subject.config, subject.dims)
    for name, module in scheme.named_modules():
        for attribute, value in vars(module).items():
            # Parameters, buffers and submodules live in dicts of their own, which begin with _.
            if attribute.startswith("_") and attribute in vars(nn.Module()):
                continue
            members = value.values() if isinstance(value, dict) else value
            members = members if isinstance(value, dict | list | tuple) else [value]
            loose = [member for member in members if isinstance(member, Tensor | nn.Module)]
            where = f"{name}.{attribute}".lstrip(".")
            holds(
                not loose,
                f"{where} holds a {type(loose[0]).__name__ if loose else ''} that is not "
                "registered: no optimizer, checkpoint or .to(device) sees it. Use nn.Parameter, "
                "nn.ParameterList, nn.ModuleList or register_buffer; a table that follows from "
                "the config is best computed where it is used",
            )


@check(needs=("shapes_and_dtypes",))
def initialisation_is_deterministic(subject: Subject) -> None:
    """The same seed gives the same parameters and buffers, whatever was drawn before."""

    def tensors() -> dict[str, Tensor]:
        scheme = subject.model(spread=0.0).scheme
        return dict(scheme.named_parameters()) | dict(scheme.named_buffers())

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        first = tensors()
        torch.manual_seed(2)
        second = tensors()
    for name, value in first.items():
        same(
            second[name],
            value,
            f"{name} drawn twice with one seed",
            "Draw parameters in init_parameter, from the generator that it is handed; draw nothing "
            "in __init__.",
            tolerance=0.0,
        )
