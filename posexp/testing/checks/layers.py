"""Layers: what is set for one acts on that one."""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model.kernels.choice import KERNELS
from posexp.scheme import PositionScheme
from posexp.testing.check import check
from posexp.testing.checks.declarations import FOUNDATIONS
from posexp.testing.compare import explained, holds
from posexp.testing.outcomes import layer_outcomes
from posexp.testing.subject import Subject

Outcomes = dict[str, Tensor]


@check(needs=FOUNDATIONS)
def layers_keep_to_themselves(subject: Subject) -> None:
    """`for_layer` gives every layer its scheme, and a parameter acts only on the layers it is in.

    Shared parameters are registered once, and every layer's kernel is recorded.
    """
    model, n_layers = subject.model(), subject.dims.n_layers
    scheme = model.scheme
    with explained("for_layer", "It must give a scheme for every layer from 0."):
        parts = [scheme.for_layer(layer) for layer in range(n_layers)]
    for layer, part in enumerate(parts):
        what = f"for_layer({layer}) gives a {type(part).__name__}, not a PositionScheme"
        holds(isinstance(part, PositionScheme), what)
    names = [kernel.name for kernel in model.kernels]
    holds(
        len(names) == n_layers and set(names) <= set(KERNELS),
        f"the kernels {names} are not one known kernel for each of {n_layers} layers",
    )
    every = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    unique = {name for name, _ in model.named_parameters()}
    holds(
        set(every) == unique,
        f"{sorted(set(every) - unique)} are registered a second time: hold a shared scheme in one "
        "place, and give layers a reference to it",
    )
    _no_current_layer(subject, scheme, parts)
    _parameters_act_where_they_are(subject, scheme)


def _outcomes(subject: Subject, part: PositionScheme) -> Outcomes:
    return layer_outcomes(part, subject.dims, torch.arange(9), torch.float32)


def _equal(one: Outcomes, other: Outcomes) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[m], other[m]) for m in one)


def _no_current_layer(
    subject: Subject, scheme: PositionScheme, parts: list[PositionScheme]
) -> None:
    for layer, part in enumerate(parts):
        holds(
            _equal(_outcomes(subject, part), _outcomes(subject, scheme.for_layer(layer))),
            f"the scheme of layer {layer} changed when other layers were asked for: for_layer must "
            "give a module for each kind of layer, not remember the current one",
        )


def _parameters_act_where_they_are(subject: Subject, scheme: PositionScheme) -> None:
    layers = range(subject.dims.n_layers)

    def every_layer() -> list[Outcomes]:
        return [_outcomes(subject, scheme.for_layer(layer)) for layer in layers]

    for name, parameter in scheme.named_parameters():
        owners = [
            layer
            for layer in layers
            if any(parameter is p for p in scheme.for_layer(layer).parameters())
        ]
        before = every_layer()
        with torch.no_grad():
            parameter += 1.0
        after = every_layer()
        changed = [i for i in layers if not _equal(before[i], after[i])]
        holds(
            set(changed) <= set(owners),
            f"changing {name}, which belongs to the schemes of layers {owners}, changed layers "
            f"{changed}: a parameter acts only on its own layers",
        )
