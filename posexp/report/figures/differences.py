"""Every setting minus the baseline at T, with its interval: for one column of a paper."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posexp.report.comparison import Comparison
from posexp.report.estimate import Contrast
from posexp.report.figures.panel import MOST_DRAWN
from posexp.report.figures.style import styles

WIDTH, TOP, BOTTOM, EDGE = 3.3, 0.1, 0.8, 0.06  # inches
ROW = 0.2  # inches
NOTE_SIZE, NOTE_LINE = 7, 54  # points; characters
LEAST_AXES = 1.4  # inches

Found = list[tuple[str, Contrast]]


def draw_differences(comparisons: Sequence[Comparison]) -> Figure | None:
    """One panel a comparison, the best on top; None where nothing can be paired."""
    drawable = [(c, found[:MOST_DRAWN]) for c in comparisons if (found := _found(c))]
    if not drawable:
        return None
    look = styles(comparisons)
    heights = [ROW * (len(found) + 1) for _, found in drawable]
    total = sum(heights) + len(heights) * (TOP + BOTTOM)
    figure = Figure(figsize=(WIDTH, total))
    y = total
    for (comparison, found), height in zip(drawable, heights, strict=True):
        y -= TOP + height
        names = min(0.075 * max(len(label) for label, _ in found), WIDTH - LEAST_AXES - 2 * EDGE)
        left = EDGE + names
        box = (left / WIDTH, y / total, (WIDTH - left - 2 * EDGE) / WIDTH, height / total)
        _panel(figure.add_axes(box), comparison, found, look)
        y -= BOTTOM
    return figure


def _found(comparison: Comparison) -> Found:
    at_t = comparison.contrasts.get(comparison.context_length, {})
    return [(label, contrast) for label, contrast in at_t.items() if contrast.estimate is not None]


def _panel(ax: Axes, comparison: Comparison, found: Found, look: dict[str, dict]) -> None:
    ax.axvline(0, color="0.25", linewidth=0.9, zorder=1)
    for place, (label, contrast) in enumerate(found):
        _row(ax, place, contrast, look[label])
    ax.set_ylim(len(found) - 0.3, -0.6)
    ax.set_yticks(range(len(found)), [_cut(label) for label, _ in found], fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.grid(False, axis="y")
    ax.grid(True, axis="x")
    ax.set_xlabel(f"bits per byte minus {comparison.baseline.label}, at T", fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    note = "" if len(found) < MOST_DRAWN else f"The best {len(found)} at T. "
    note += "Left is better. Dots: seeds; bars: 95 % over seeds and text"
    if any(c.estimate.both is None for _, c in found):
        note += ", thin: over text alone, where seeds are too few"
    ax.annotate(
        textwrap.fill(note + ".", NOTE_LINE), (0.5, 0), (0, -33), fontsize=NOTE_SIZE,
        xycoords=("figure fraction", "axes fraction"), textcoords="offset points", color="0.35",
        ha="center", va="top",
    )  # fmt: skip


def _row(ax: Axes, place: int, contrast: Contrast, style: dict) -> None:
    estimate = contrast.estimate
    if interval := estimate.both or estimate.over_text:
        ends = [interval.low, interval.high]
        width = 2.4 if estimate.both else 0.9
        ax.plot(ends, [place] * 2, color=style["color"], linewidth=width, solid_capstyle="butt")
    seeds = [value for _, value in contrast.by_seed]
    ax.plot(seeds, [place + 0.3] * len(seeds), ".", color="0.35", markersize=2.5, zorder=3)
    ax.plot(estimate.mean, place, zorder=4, **style | {"linestyle": "", "markersize": 5})


def _cut(label: str) -> str:
    most = int((WIDTH - LEAST_AXES - 2 * EDGE) / 0.075)
    return label if len(label) <= most else label[: most - 1] + "…"
