"""Matrices: what happens to each dimension at each position, and which keys a query sees."""

from __future__ import annotations

import dataclasses

import torch

from posexp.catalogue import measure
from posexp.catalogue.measure import ANGLES, Panel, positions_up_to
from posexp.explain.meeting import Meeting, remapped, standard_normal
from posexp.explain.pictures.picture import Absent, Picture
from posexp.explain.study import CELLS, Kind, Study
from posexp.page import number
from posexp.scheme import PositionScheme

#: Rows and columns of what happens to dimensions, at most.
MOST = 128


def dimensions(study: Study, kind: Kind) -> Picture | Absent:
    """What is added to each dimension, or how each column of q still meets that of k."""
    layer = study.drawn.for_layer(kind.number)
    positions = positions_up_to(study.trained_length, study.drawn.max_length, MOST)
    once = measure.before_layers(study.drawn, study.dims, positions)
    with torch.no_grad():
        there = study.drawn.remap_positions(positions)
    inside = measure.in_layer(layer, study.dims, there)
    panels = [p for p in once + inside if p.columns != "key position" and p.title != ANGLES]
    panels = [p for p in panels if not p.is_flat]
    if not panels:
        return Absent("it acts on no dimension of the input, queries, keys or values")
    text = " ".join(_seen(panel) for panel in panels).replace(" . ", "·")
    return Picture(text, panels=[_narrowed(panel) for panel in panels])


def _narrowed(panel: Panel) -> Panel:
    """At most MOST of its columns."""
    shown = positions_up_to(panel.values.shape[1], None, MOST)
    values, ticks = panel.values[:, shown], panel.column_ticks[shown]
    title = panel.title.replace(" . ", "·")
    return dataclasses.replace(panel, title=title, values=values, column_ticks=ticks)


def _seen(panel: Panel) -> str:
    low, high = panel.range
    moving = (panel.values.amax(0) - panel.values.amin(0)) > 1e-4
    text = f"{capital(panel.title)}: {number(low)} to {number(high)}"
    count, total = int(moving.sum()), len(moving)
    changing = "every column changes" if count == total else f"{count} of {total} columns change"
    return f"{text}; {changing} over the {len(panel.values)} {panel.rows}s drawn."


def capital(title: str) -> str:
    """A title at the start of a sentence; a symbol stays what it is."""
    return title if title[1:2] in " ·" else title[0].upper() + title[1:]


def visibility(study: Study, kind: Kind) -> Picture | Absent:
    """Which keys a query sees, causality included: wherever a score is not -inf."""
    panel = visible(study, kind)
    seen = panel.values.sum(1)
    rows = len(panel.values)
    last = int(seen[-1])
    if study.dims.causal and bool((seen == torch.arange(1, rows + 1)).all()):
        text = "A query sees itself and everything before it."
    elif bool((seen == rows).all()):
        text = "Every query sees every key."
    else:
        hidden = _hidden(study, kind)
        text = f"The last of {hidden[1]:,} queries sees {hidden[0]:,} keys; {last} of those drawn."
    return Picture(text, panels=[panel])


def visible(study: Study, kind: Kind) -> Panel:
    """1 where a query sees a key, at up to CELLS positions (T, T)."""
    dims, scheme = study.dims, study.drawn
    tokens = positions_up_to(study.trained_length, scheme.max_length, CELLS)
    positions = remapped(scheme, int(tokens[-1]) + 1)[tokens]
    x = standard_normal(dims, 1, len(tokens))
    layer = scheme.for_layer(kind.number)
    scores = Meeting.of(PositionScheme(dims=dims), layer, dims, *x, positions).scores
    seen = (scores[0] != -torch.inf).float().mean(0)
    return Panel(measure.VISIBLE, seen, "query position", "key position", tokens, tokens)


def _hidden(study: Study, kind: Kind) -> tuple[int, int]:
    """Keys that the last query within T sees, and the tokens there are."""
    length = study.up_to(study.trained_length)
    dims, scheme = study.dims, study.drawn
    x = standard_normal(dims, 1, length)
    layer = scheme.for_layer(kind.number)
    positions = remapped(scheme, length)
    scores = Meeting.of(
        PositionScheme(dims=dims), layer, dims, *x, positions, query=length - 1
    ).scores
    return int((scores != -torch.inf).any(1).sum()), length
