"""The ratios as a figure: a row of panels for each part, one for each precision."""

from __future__ import annotations

import io
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from posexp.bench.row import Row
from posexp.report.figures.style import COLORS, MARKERS, RC

PARTS = {
    "attention": "Attention alone, forward + backward",
    "step": "Training step",
    "decode": "Decoding a token",
}
FINE_TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5, 3)
COARSE_TICKS = [2.0**k for k in range(-4, 12)]
PANEL_WIDTH, LABEL_WIDTH, ROW_HEIGHT, MARGINS, EDGES = 3.4, 2.0, 0.24, 0.9, 0.6  # inches
# Dates would make two figures of one result differ.
METADATA = {
    "png": {"Software": "posexp bench"},
    "pdf": {"Creator": "posexp bench", "CreationDate": None},
}


def draw(rows: Sequence[Row], caption: str) -> dict[str, bytes]:
    """`ratios.png` and `ratios.pdf`; nothing where there is no ratio."""
    drawable = [row for row in rows if row.part in PARTS and row.ratio is not None]
    if not drawable:
        return {}
    with matplotlib.rc_context({**RC, "axes.grid.axis": "x"}):
        figure = _figure(drawable, caption)
        drawn = {}
        for kind, metadata in METADATA.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, metadata=metadata, bbox_inches="tight")
            drawn[f"ratios.{kind}"] = buffer.getvalue()
    return drawn


def _figure(rows: Sequence[Row], caption: str) -> Figure:
    parts = list(dict.fromkeys(row.part for row in rows))
    precisions = list(dict.fromkeys(row.precision for row in rows))
    lengths = sorted({row.length for row in rows})
    labels = {p: list(dict.fromkeys(r.label for r in rows if r.part == p)) for p in parts}
    heights = [MARGINS + ROW_HEIGHT * len(labels[part]) for part in parts]
    size = (LABEL_WIDTH + PANEL_WIDTH * len(precisions), EDGES + sum(heights))
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(
        len(parts), len(precisions), sharey="row", squeeze=False, height_ratios=heights
    )
    for part, panels in zip(parts, grid, strict=True):
        for precision, ax in zip(precisions, panels, strict=True):
            shown = [row for row in rows if (row.part, row.precision) == (part, precision)]
            _panel(ax, shown, labels[part], lengths)
            ax.set_title(f"{PARTS[part]}, {precision}", loc="left", fontsize=9)
        panels[0].set_yticks(range(len(labels[part])), labels[part])
        panels[0].set_ylim(len(labels[part]) - 0.4, -0.6)
    for ax in grid[-1]:
        ax.set_xlabel("time / NoPE's (lower is better)")
    handles = {h.get_label(): h for ax in grid.flat for h in ax.get_legend_handles_labels()[0]}
    figure.legend(
        [handles[str(length)] for length in lengths], [f"L = {length}" for length in lengths],
        loc="outside lower right", ncols=len(lengths), frameon=False, fontsize=8,
    )  # fmt: skip
    figure.suptitle(caption, x=0.01, ha="left", fontsize=7, color="0.35")
    return figure


def _panel(ax: Axes, rows: Sequence[Row], labels: Sequence[str], lengths: Sequence[int]) -> None:
    """A mark for each length at the median, with a bar from quartile to quartile."""
    ax.axvline(1, color="0.25", linewidth=0.9, zorder=1)
    for number, length in enumerate(lengths):
        shown = [row for row in rows if row.length == length]
        if not shown:
            continue
        offset = (number - (len(lengths) - 1) / 2) * 0.22
        ratios = [row.ratio for row in shown]
        medians = [r.median for r in ratios]
        ax.errorbar(
            medians,
            [labels.index(row.label) + offset for row in shown],
            xerr=[[r.median - r.low for r in ratios], [r.high - r.median for r in ratios]],
            fmt=MARKERS[number % len(MARKERS)],
            color=COLORS[number % len(COLORS)],
            markersize=4.5,
            linewidth=1,
            label=str(length),
        )
    _x_axis(ax)


def _x_axis(ax: Axes) -> None:
    """Logarithmic around 1, with close ticks where the ratios are close."""
    low, high = min(ax.dataLim.x0, 0.9), max(ax.dataLim.x1, 1.1)
    ax.set_xscale("log", base=2)
    ax.set_xlim(low / 1.03, high * 1.03)
    ax.xaxis.set_major_locator(FixedLocator(COARSE_TICKS if high / low > 4 else FINE_TICKS))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
