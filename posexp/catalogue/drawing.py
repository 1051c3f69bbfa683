"""A matrix as text: the first panel of each kind, in blocks from light to dark."""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.catalogue.exhibit import Exhibit
from posexp.catalogue.gallery import Gallery
from posexp.catalogue.measure import Panel
from posexp.registry import PluginError

SHADES = "·░▒▓█"
CELLS = 16


def drawing(exhibit: Exhibit) -> list[str]:
    """The scheme's matrices at 16 positions, or one line on why it cannot be drawn."""
    try:
        gallery = Gallery.of(exhibit, CELLS)
    except PluginError as error:
        return [str(error)]
    lines = [gallery.note]
    for where, panels in gallery.rows:
        for panel in _one_head(panels):
            lines += ["", f"{panel.title} ({where})", *shaded(panel)]
    return lines


def shaded(panel: Panel) -> list[str]:
    """The panel's rows as text, and a legend; blank where there is nothing to see."""
    columns = _spread(panel.values.shape[1])
    values = panel.values[:, columns]
    low, high = panel.range
    levels = (values - low) / (high - low) if high > low else values * 0 + 1  # nan stays
    indices = (levels.nan_to_num(-1) * len(SHADES)).floor().clamp(max=len(SHADES) - 1).int()
    marks = ["".join("  " if i < 0 else 2 * SHADES[i] for i in row) for row in indices.tolist()]
    ticks = [str(tick) for tick in panel.row_ticks.tolist()]
    width = max(map(len, ticks))
    lines = [
        f"{tick.rjust(width)}  {mark}".rstrip() for tick, mark in zip(ticks, marks, strict=True)
    ]
    first, last = panel.column_ticks[columns[[0, -1]]].tolist()
    scale = f"{SHADES[0]} {low + 0.0:.3g}, {SHADES[-1]} {high + 0.0:.3g}"  # no -0
    if low == high:
        scale = f"{low + 0.0:.3g} everywhere"
    legend = f"{panel.rows} down, {panel.columns} {first} to {last} across; {scale}"
    return [*lines, legend, *filter(None, [panel.remark])]


def _spread(size: int) -> Tensor:
    return torch.linspace(0, size - 1, min(size, CELLS)).round().long()


def _one_head(panels: list[Panel]) -> list[Panel]:
    kinds: dict[str, Panel] = {}
    for panel in panels:
        kinds.setdefault(panel.title.partition(", head")[0], panel)
    return list(kinds.values())
