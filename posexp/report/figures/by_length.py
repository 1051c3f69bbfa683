"""Loss against context length: the anchored loss A(L) of every setting."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posexp.report.comparison import Comparison
from posexp.report.figures.margin import EndLabel
from posexp.report.figures.panel import MOST_DRAWN, Texts, finish, stack
from posexp.report.figures.style import styles
from posexp.report.setting import Setting
from posexp.report.table import NOT_AVAILABLE

TEXTS = Texts(
    title="Loss against context length",
    x_label="context length L (tokens)",
    note="Anchored loss: the same targets at every L, so a falling line is context that is used.",
)
SEVERAL = (
    "\nLines: means over seeds; dots: each seed; bands: the 95 % t-interval over seeds, "
    "or the range of two."
)


def draw_by_length(comparisons: Sequence[Comparison]) -> Figure | None:
    """One panel a comparison; None where no job has a loss."""
    drawable = [c for c in comparisons if any(_line(s, c.lengths) for s in c.settings)]
    if not drawable:
        return None
    figure, panels = stack(drawable)
    look = styles(comparisons)
    for (ax, height), comparison in zip(panels, drawable, strict=True):
        having = [s for s in comparison.settings if _line(s, comparison.lengths)]
        ends = [
            _draw(ax, setting, comparison.lengths, look[setting.label])
            for setting in having[:MOST_DRAWN]
        ]
        bands = SEVERAL if comparison.seeds > 1 else ""
        texts = dataclasses.replace(TEXTS, note=TEXTS.note + bands)
        finish(ax, height, comparison, ends, comparison.lengths, texts, having[MOST_DRAWN:])
    return figure


def _line(setting: Setting, lengths: Sequence[int]) -> list[tuple[int, float]]:
    """(L, mean over seeds), without the lengths at which a seed diverged or has no loss."""
    means = [(length, setting.ranked_loss(length)) for length in lengths]
    return [(length, mean) for length, mean in means if mean is not None]


def _band(setting: Setting, length: int) -> tuple[float, float]:
    """The interval over seeds; the range of fewer than three."""
    interval = setting.summary(length).over_seeds
    if interval is not None:
        return interval.low, interval.high
    values = [v for job in setting.jobs if (v := job.loss(length)) is not None]
    return min(values), max(values)


def _draw(ax: Axes, setting: Setting, lengths: Sequence[int], style: dict[str, Any]) -> EndLabel:
    line = _line(setting, lengths)
    ax.plot(*zip(*line, strict=True), **style)
    if len(setting.jobs) > 1:
        seeds = [[job.loss(length) for job in setting.jobs] for length, _ in line]
        numbers = [[value for value in values if value is not None] for values in seeds]
        xs = [length for length, _ in line]
        bands = [_band(setting, length) for length in xs]
        ax.fill_between(
            xs, *zip(*bands, strict=True), color=style["color"], alpha=0.15, linewidth=0
        )
        for x, values in zip(xs, numbers, strict=True):
            ax.plot([x] * len(values), values, ".", color=style["color"], markersize=2.5, zorder=3)
    last, end = line[-1]
    if last == lengths[-1]:
        return EndLabel(setting.label, end, style)
    following = lengths[lengths.index(last) + 1]
    reasons = {job.losses().get(following, {}).get("status", "") for job in setting.jobs}
    reason = next((NOT_AVAILABLE[r] for r in sorted(reasons) if r in NOT_AVAILABLE), "n/a")
    reason = reason.replace("\n", " ")
    return EndLabel(f"{setting.label} ({reason} beyond {last})", end, style, reaches_margin=False)
