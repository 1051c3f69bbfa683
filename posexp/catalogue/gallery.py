"""The panels of a whole scheme: before the first layer, and in each kind of layer once."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from posexp.catalogue import measure
from posexp.catalogue.exhibit import Exhibit, spans
from posexp.catalogue.measure import Panel
from posexp.dims import AttentionDims
from posexp.loading import told
from posexp.model.init import stream
from posexp.registry import PluginError
from posexp.scheme import PositionScheme

#: What is said of the parameters behind the panels.
FIXED = "fixed: nothing in it is trained"
STARTING = "as training starts with seed 0"
SCATTERED = "parameters drawn at random, as it starts out flat"


@dataclass(frozen=True)
class Gallery:
    """Rows of panels, each with where it happens; the scheme that gave them, and a note on its
    parameters.
    """

    rows: list[tuple[str, list[Panel]]]
    note: str
    scheme: PositionScheme

    @classmethod
    def of(cls, exhibit: Exhibit, most: int) -> Gallery:
        """Measured at `most` positions up to the training length, or as far as the scheme goes.

        Raises `PluginError` if a method of the scheme raises.
        """
        scheme, dims = copy.deepcopy(exhibit.scheme), exhibit.dims
        trained = bool(list(scheme.parameters()))
        note = STARTING if trained else FIXED
        positions = measure.positions_up_to(dims.context_length, scheme.max_length, most)
        try:
            rows = _rows(scheme, dims, positions)
            if trained and any(panel.is_flat for _, panels in rows for panel in panels):
                note = SCATTERED
                _scatter(scheme)
                rows = _rows(scheme, dims, positions)
        except Exception as error:
            raise PluginError(
                f"{exhibit.spec.name} ({exhibit.origin}) cannot be drawn: {told(error)}; "
                f"posexp schemes check {exhibit.spec.name} says more"
            ) from error
        return cls(rows, note, scheme)


@torch.no_grad()
def _scatter(scheme: PositionScheme) -> None:
    for name, parameter in scheme.named_parameters():
        generator = torch.Generator().manual_seed(stream(0, "scatter", name))
        parameter += torch.randn(parameter.shape, generator=generator)


def _rows(
    scheme: PositionScheme, dims: AttentionDims, positions: Tensor
) -> list[tuple[str, list[Panel]]]:
    rows = []
    if before := measure.before_layers(scheme, dims, positions):
        rows.append(("before the first layer", before))
    if "remap_positions" in scheme.acts_on:
        positions = scheme.remap_positions(positions)
    kinds: list[tuple[list[int], list[Panel]]] = []
    for number in range(dims.n_layers):
        panels = measure.in_layer(scheme.for_layer(number), dims, positions)
        for numbers, known in kinds:
            if len(known) == len(panels) and all(map(Panel.equals, known, panels)):
                numbers.append(number)
                break
        else:
            kinds.append(([number], panels))
    if len(kinds) > 1:
        nothing = [measure.nothing(dims, positions)]
        rows += [(spans(numbers), panels or nothing) for numbers, panels in kinds]
    elif kinds[0][1]:
        rows.append(("every layer", kinds[0][1]))
    return rows or [("every layer", [measure.nothing(dims, positions)])]
