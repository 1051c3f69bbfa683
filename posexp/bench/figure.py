"""The ratios as a figure: a panel for each part and precision, a row for each scheme."""

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
TICKS = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 32, 64)
PANEL_WIDTH, ROW_HEIGHT, MARGINS = 3.6, 0.27, 1.5  # inches
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
    panels = list(dict.fromkeys((row.part, row.precision) for row in rows))
    labels = list(dict.fromkeys(row.label for row in rows))
    lengths = sorted({row.length for row in rows})
    height = MARGINS + ROW_HEIGHT * len(labels)
    figure = Figure(figsize=(2 + PANEL_WIDTH * len(panels), height), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (part, precision) in zip(axes, panels, strict=True):
        shown = [row for row in rows if (row.part, row.precision) == (part, precision)]
        _panel(ax, shown, labels, lengths)
        ax.set_title(f"{PARTS[part]}, {precision}", loc="left", fontsize=9)
    axes[0].set_yticks(range(len(labels)), labels)
    axes[0].invert_yaxis()
    handles = {h.get_label(): h for ax in axes for h in ax.get_legend_handles_labels()[0]}
    order = [str(length) for length in lengths if str(length) in handles]
    figure.legend(
        [handles[name] for name in order], [f"L = {name}" for name in order],
        loc="outside lower right", ncols=len(order), frameon=False, fontsize=8,
    )  # fmt: skip
    figure.suptitle(caption, x=0.01, ha="left", fontsize=7.5, color="0.35")
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
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator(TICKS))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.set_xlabel("time / NoPE's (lower is better)")
