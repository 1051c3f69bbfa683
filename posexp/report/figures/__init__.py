"""The figures of a sweep, drawn without pyplot, so without any global state or window."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib

from posexp.report.comparison import Comparison
from posexp.report.figures.by_length import draw_by_length
from posexp.report.figures.by_position import draw_by_position
from posexp.report.figures.differences import draw_differences
from posexp.report.figures.style import RC

# Dates would make two reports of one sweep differ.
METADATA = {
    "png": {"Software": "posexp report"},
    "pdf": {"Creator": "posexp report", "CreationDate": None},
}


FIGURES = {
    "loss_by_length": draw_by_length,
    "loss_by_position": draw_by_position,
    "differences": draw_differences,
}


def file_name(figure: str, kind: str) -> str:
    """Where a figure is written, relative to the sweep's directory."""
    return f"report/{figure}.{kind}"


def draw(comparisons: Sequence[Comparison]) -> dict[str, bytes]:
    """Relative file name -> content; a figure with nothing to draw is left out."""
    drawn = {}
    with matplotlib.rc_context(RC):
        for name, draw_figure in FIGURES.items():
            figure = draw_figure(comparisons)
            if figure is None:
                continue
            for kind, metadata in METADATA.items():
                buffer = io.BytesIO()
                figure.savefig(buffer, format=kind, metadata=metadata)
                drawn[file_name(name, kind)] = buffer.getvalue()
    return drawn
