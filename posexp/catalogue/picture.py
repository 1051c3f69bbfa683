"""A scheme's matrices as a figure, drawn without pyplot, so without any global state or window."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posexp.catalogue.exhibit import Exhibit
from posexp.catalogue.gallery import Gallery
from posexp.catalogue.measure import VISIBLE, Panel
from posexp.registry import nearest
from posexp.report.figures.style import RC

# Dates would make two pictures of one scheme differ.
METADATA = {
    ".png": {"Software": "posexp schemes show"},
    ".pdf": {"Creator": "posexp schemes show", "CreationDate": None},
    ".svg": {"Creator": "posexp schemes show", "Date": None},
}
#: Positions on an axis at most: more than a picture can tell apart.
RESOLUTION = 128


def check_picture(path: Path) -> None:
    """Raise `ValueError` for another kind of file, `FileExistsError` if there is one already."""
    if path.suffix.lower() not in METADATA:
        raise ValueError(
            f"{path} is no picture that can be drawn{nearest(path.suffix.lower(), METADATA)}; "
            f"its name ends in {', '.join(METADATA)}"
        )
    if path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} exists: choose another name")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {path.parent}")


def write_picture(path: Path, exhibit: Exhibit) -> None:
    """Draw the exhibit into `path`, whose suffix says how. Raises as `check_picture` does."""
    check_picture(path)
    kind, buffer = path.suffix.lower(), io.BytesIO()
    with matplotlib.rc_context(RC | {"axes.grid": False, "svg.hashsalt": "posexp"}):
        figure = draw(exhibit)
        figure.savefig(buffer, format=kind[1:], metadata=METADATA[kind], bbox_inches="tight")
    with path.open("xb") as file:
        file.write(buffer.getvalue())


def draw(exhibit: Exhibit) -> Figure:
    """A row of panels before the layers and one for each kind of layer, heads side by side."""
    gallery = Gallery.of(exhibit, RESOLUTION)
    columns = max(len(panels) for _, panels in gallery.rows)
    height = len(gallery.rows)
    figure = Figure(figsize=(max(3.4 * columns, 4.5), 3.0 * height + 0.5), layout="constrained")
    figure.suptitle(f"{exhibit.spec.name} ({exhibit.origin}; {gallery.note})", fontsize=9)
    grid = figure.subplots(height, columns, squeeze=False)
    for axes_row, (where, panels) in zip(grid, gallery.rows, strict=True):
        for axes, panel in zip(axes_row, panels, strict=False):
            _draw_panel(axes, panel, where)
        for axes in axes_row[len(panels) :]:
            axes.set_axis_off()
    return figure


def _draw_panel(axes: Axes, panel: Panel, where: str) -> None:
    values = np.ma.masked_invalid(panel.values.numpy())
    low, high = panel.range
    scale = {"cmap": "viridis", "vmin": low, "vmax": high}
    if low < 0 < high:
        bound = max(-low, high)
        scale = {"cmap": "RdBu_r", "vmin": -bound, "vmax": bound}
    if panel.title == VISIBLE:
        scale = {"cmap": "Greys", "vmin": 0.0, "vmax": 1.5}  # seen is grey, not black
    rows, columns = panel.row_ticks.tolist(), panel.column_ticks.tolist()
    extent = (columns[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5, rows[0] - 0.5)
    image = axes.imshow(values, aspect="auto", interpolation="nearest", extent=extent, **scale)
    axes.set_title(f"{panel.title}\n{where}", fontsize=8)
    axes.set_xlabel(panel.columns)
    axes.set_ylabel(panel.rows)
    if panel.title != VISIBLE:
        axes.figure.colorbar(image, ax=axes)
