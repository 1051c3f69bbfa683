"""Loss by position: where in one long window a scheme stops working."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posexp.report.comparison import Comparison
from posexp.report.figures.margin import EndLabel
from posexp.report.figures.panel import MOST_DRAWN, Texts, finish, stack
from posexp.report.figures.style import styles
from posexp.report.setting import Setting

TEXTS = Texts(
    title="Loss by position",
    x_label="tokens of context at the position, in one window of the longest length",
    note="Positions differ in their targets: read the shape, not small differences.",
)


def draw_by_position(comparisons: Sequence[Comparison]) -> Figure | None:
    """One panel a comparison; None where no job has a curve."""
    drawable = [
        c
        for c in comparisons
        if any(curve(s) for s in c.settings if any(map(s.summary, c.lengths)))
    ]
    if not drawable:
        return None
    figure, panels = stack(drawable)
    look = styles(comparisons)
    for (ax, height), comparison in zip(panels, drawable, strict=True):
        having = [(s, line) for s in comparison.settings if s.label in look and (line := curve(s))]
        drawn, left_out = having[:MOST_DRAWN], [s for s, _ in having[MOST_DRAWN:]]
        longest = max(x for _, line in drawn for x, _ in line)
        ends = [_draw(ax, s, line, look[s.label], longest) for s, line in drawn]
        ticks = [2**k for k in range(0, math.floor(math.log2(longest)) + 2)]
        finish(ax, height, comparison, ends, ticks, TEXTS, left_out)
    return figure


def curve(setting: Setting) -> list[tuple[float, float]]:
    """(tokens of context, mean over seeds) a bucket, without the buckets that a seed lacks.

    Position i sees i + 1 tokens; a bucket is drawn at the geometric mean of its ends.
    """
    buckets = [job.evaluation["curve"] for job in setting.jobs if job.evaluation.get("curve")]
    points = []
    for same in zip(*buckets, strict=False):
        values = [bucket["bits_per_byte"] for bucket in same]
        if all(value is not None for value in values):
            x = math.sqrt((same[0]["first"] + 1) * (same[0]["last"] + 1))
            points.append((x, math.fsum(values) / len(values)))
    return points


def _draw(
    ax: Axes,
    setting: Setting,
    line: Sequence[tuple[float, float]],
    style: dict[str, Any],
    longest: float,
) -> EndLabel:
    small = {"markersize": 0.8 * style["markersize"], "linewidth": 1.3}
    ax.plot(*zip(*line, strict=True), **style | small)
    x, y = line[-1]
    return EndLabel(setting.label, y, style, reaches_margin=x == longest)
