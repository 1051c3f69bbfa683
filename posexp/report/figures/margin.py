"""Names at the end of their lines, in the right margin, moved apart where they would collide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

SAMPLE = (1.035, 1.11)  # where the sample of the line is drawn, in widths of the axes
LINE_HEIGHT = 0.19  # inches


@dataclass(frozen=True)
class EndLabel:
    """A name, the loss its line ends at, its style, and whether the line ends at the margin."""

    text: str
    y: float
    style: dict[str, Any]
    reaches_margin: bool = True


def label_ends(ax: Axes, labels: Sequence[EndLabel], height: float) -> None:
    """Draw `labels` beside `ax`, which is `height` inches high and has its final limits."""
    to_axes = ax.transData + ax.transAxes.inverted()
    x = ax.get_xlim()[1]
    ordered = sorted(labels, key=lambda label: label.y)
    ends = [float(to_axes.transform((x, label.y))[1]) for label in ordered]
    places = spread(np.array(ends), LINE_HEIGHT / height)
    for label, end, place in zip(ordered, ends, places, strict=True):
        if label.reaches_margin:
            leader = Line2D(
                [1.0, SAMPLE[0] - 0.005],
                [end, place],
                transform=ax.transAxes,
                color=label.style["color"],
                linewidth=0.6,
                alpha=0.7,
                clip_on=False,
            )
            ax.add_artist(leader)
        sample = Line2D(
            [SAMPLE[0], sum(SAMPLE) / 2, SAMPLE[1]],
            [place] * 3,
            transform=ax.transAxes,
            clip_on=False,
            markevery=[1],
            **label.style,
        )
        ax.add_artist(sample)
        ax.text(
            SAMPLE[1] + 0.012, place, label.text, transform=ax.transAxes, va="center", fontsize=8.5
        )


def spread(wanted: np.ndarray, gap: float) -> np.ndarray:
    """Ascending places at least `gap` apart, nearest in squares to the ascending `wanted`.

    Isotonic regression of wanted - i gap: neighbours that violate the order are pooled.
    """
    shift = gap * np.arange(len(wanted))
    pools: list[list[float]] = []  # mean, size
    for value in wanted - shift:
        pools.append([float(value), 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            total = pools[-1][1] + size
            pools[-1] = [(pools[-1][0] * pools[-1][1] + mean * size) / total, total]
    places = np.concatenate([np.full(int(size), mean) for mean, size in pools] or [[]])
    # Inside the axes, as long as there is room; the same bounds for all keep the gaps.
    return np.clip(places, 0, max(0.0, 1 - shift[-1])) + shift if len(wanted) else places
