"""What both figures share: a panel a comparison, log2 axis in tokens, T marked, n-gram line.

A figure is 6.8 inches wide, as a paper's page is, whatever its labels: the axes get what is left.
"""

from __future__ import annotations

import dataclasses
import textwrap
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from posexp.report.caption import conditions
from posexp.report.comparison import Comparison
from posexp.report.figures.margin import LABEL_SIZE, LINE_HEIGHT, TEXT_AT, EndLabel, label_ends
from posexp.report.setting import Setting

WIDTH, LEFT, EDGE, TOP, BOTTOM = 6.8, 0.55, 0.06, 0.85, 1.1  # inches
LEAST_AXES = 2.8  # inches
NOTE_SIZE, NOTE_LINE = 7, 112  # points; characters
MOST_NAMED = 6
MOST_DRAWN = 32  # lines of one figure: no more than there are looks
LOG_TICKS = [factor * 2.0**k for k in range(-4, 12) for factor in (1, 1.5)]
NGRAM_STYLE: dict[str, Any] = {
    "color": "0.45",
    "linestyle": (0, (1, 1.5)),
    "linewidth": 1.2,
    "marker": "",
}


@dataclass(frozen=True)
class Texts:
    """The words of a panel."""

    title: str
    x_label: str
    note: str


def stack(comparisons: Sequence[Comparison]) -> tuple[Figure, list[tuple[Axes, float]]]:
    """A figure with one panel a comparison, and each panel's height in inches."""
    heights = [
        max(3.1, LINE_HEIGHT * 1.15 * (min(len(c.settings), MOST_DRAWN) + 2)) for c in comparisons
    ]
    total = sum(heights) + len(heights) * (TOP + BOTTOM)
    figure = Figure(figsize=(WIDTH, total))
    panels, y = [], total
    for height in heights:
        y -= TOP + height
        box = (LEFT / WIDTH, y / total, LEAST_AXES / WIDTH, height / total)
        panels.append((figure.add_axes(box), height))
        y -= BOTTOM
    return figure, panels


def finish(
    ax: Axes,
    height: float,
    comparison: Comparison,
    ends: list[EndLabel],
    ticks: Sequence[int],
    texts: Texts,
    left_out: Sequence[Setting] = (),
) -> None:
    """Axes, T, the n-gram line, the names in the margin and the words around them.

    `left_out` are the settings that have a line which is not drawn.
    """
    t = comparison.context_length
    order_5 = comparison.ngram.get("order_5")
    if order_5 is not None:
        ax.axhline(order_5, zorder=1.5, **NGRAM_STYLE)
        ends = [*ends, EndLabel("order-5 n-gram", order_5, NGRAM_STYLE)]
    ax.set_xscale("log", base=2)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(list(ticks))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    low, high = min(ticks), max(ticks)
    ax.set_xlim(low / 2**0.25, high * 2**0.12)
    _y_axis(ax, ends)
    if t:
        ax.axvline(t, color="0.25", linewidth=0.9, zorder=1)
        ax.axvspan(t, ax.get_xlim()[1], color="0.965", zorder=0, linewidth=0)
        ax.annotate(
            f"T = {t}", (t, 1), xycoords=("data", "axes fraction"), xytext=(-4, -2),
            textcoords="offset points", ha="right", va="top", fontsize=8, color="0.25",
        )  # fmt: skip
        if high > t:
            ax.annotate(
                "beyond training →", (t, 1), xycoords=("data", "axes fraction"), xytext=(4, -2),
                textcoords="offset points", va="top", fontsize=8, color="0.45",
            )  # fmt: skip
    ax.set_xlabel(texts.x_label)
    ax.set_ylabel("bits per byte (lower is better)")
    label_ends(ax, _fitted(ax, ends), height)
    about = textwrap.wrap(conditions(comparison), NOTE_LINE)
    ax.annotate(
        texts.title, (0, 1), xycoords="axes fraction", xytext=(-30, 21 + 9 * len(about)),
        textcoords="offset points", fontsize=10, fontweight="bold", va="bottom",
    )  # fmt: skip
    ax.annotate(
        "\n".join(about), (0, 1), xycoords="axes fraction", xytext=(-30, 14),
        textcoords="offset points", fontsize=NOTE_SIZE, color="0.35", va="bottom",
    )  # fmt: skip
    if left_out:
        texts = dataclasses.replace(texts, note=f"{texts.note} {_best_of(ends, left_out)}")
    without = _without_a_line(comparison, ends, left_out)
    note = "\n".join(filter(None, [texts.note, without]))
    ax.annotate(
        note, (0, 0), xycoords="axes fraction", xytext=(-30, -36),
        textcoords="offset points", fontsize=NOTE_SIZE, color="0.35", va="top",
    )  # fmt: skip


@cache
def inches(text: str) -> float:
    """The width of a name."""
    return TextPath((0, 0), text, size=LABEL_SIZE).get_extents().width / 72


def _fitted(ax: Axes, ends: list[EndLabel]) -> list[EndLabel]:
    """Give the axes the width that the names leave; names that leave too little are cut."""
    room = WIDTH - LEFT - EDGE - LEAST_AXES * TEXT_AT
    cut = [dataclasses.replace(end, text=_cut(end.text, room)) for end in ends]
    names = max((inches(end.text) for end in cut), default=0.0)
    box = ax.get_position()
    ax.set_position((box.x0, box.y0, (WIDTH - LEFT - EDGE - names) / TEXT_AT / WIDTH, box.height))
    return cut


def _cut(text: str, room: float) -> str:
    if inches(text) <= room:
        return text
    kept = bisect(range(len(text)), room, key=lambda n: inches(text[:n] + "…"))
    return text[: max(0, kept - 1)] + "…"


def _y_axis(ax: Axes, ends: list[EndLabel]) -> None:
    """Linear, or logarithmic where one line would press all others flat."""
    low, high = ax.dataLim.y0, ax.dataLim.y1
    levels = [end.y for end in ends]
    low, high = min([low, *levels]), max([high, *levels])
    if low > 0 and high / low > 4:
        ax.set_yscale("log", base=2)
        ax.yaxis.set_major_locator(FixedLocator(LOG_TICKS))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        ax.set_ylim(low / 1.08, high * 1.12)
    else:
        room = 0.06 * (high - low) or 0.1
        ax.set_ylim(low - room, high + 2 * room)


def _best_of(ends: list[EndLabel], left_out: Sequence[Setting]) -> str:
    drawn = min(len(ends), MOST_DRAWN)
    return f"The best {drawn} of {drawn + len(left_out)} at T."


def _without_a_line(
    comparison: Comparison, ends: list[EndLabel], left_out: Sequence[Setting]
) -> str:
    drawn = {end.text.split(" (")[0] for end in ends} | {s.label for s in left_out}
    missing = [s for s in comparison.settings if s.label not in drawn]
    if not missing:
        return ""
    shown = []
    for setting in missing:
        # A job that ended well and has no line is not defined at what the figure shows.
        outcomes = ("n/a" if j.outcome == "completed" else j.outcome for j in setting.jobs)
        shown.append(f"{setting.label} ({', '.join(dict.fromkeys(outcomes))})")
    if len(shown) > MOST_NAMED:
        shown = [*shown[:MOST_NAMED], f"{len(shown) - MOST_NAMED} more"]
    return textwrap.fill("Without a line: " + ", ".join(shown) + ".", NOTE_LINE)
