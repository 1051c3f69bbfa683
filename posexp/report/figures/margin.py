"""Names at the end of their lines, in the right margin, moved apart where they would collide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from posexp.page.spread import spread

SAMPLE = (1.035, 1.11)  # where the sample of the line is drawn, in widths of the axes
TEXT_AT = SAMPLE[1] + 0.012  # where its name begins
LINE_HEIGHT = 0.19  # inches
LABEL_SIZE = 8.5  # points


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
            TEXT_AT,
            place,
            label.text,
            transform=ax.transAxes,
            va="center",
            fontsize=LABEL_SIZE,
        )
