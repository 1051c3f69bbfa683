"""How a setting looks: told apart by marker and dashes as well, so that grey is enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from posexp.report.comparison import Comparison

RC: dict[str, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "0.35",
    "axes.linewidth": 0.8,
    "axes.labelcolor": "0.15",
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.grid.which": "major",
    "grid.color": "0.9",
    "grid.linewidth": 0.7,
    "xtick.color": "0.35",
    "ytick.color": "0.35",
    "xtick.labelcolor": "0.15",
    "ytick.labelcolor": "0.15",
    "savefig.dpi": 200,
    # TrueType, embedded: Type 3 fonts are refused by some publishers.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
}

# Okabe and Ito's colours for all kinds of colour vision; their yellow is too light for a line.
COLORS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#000000", "#56B4E9", "#8C510A"),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1.2, 1.2)))


def looks(comparisons: Sequence[Comparison]) -> dict[str, int]:
    """Label -> the number of its look, by alphabet over what has a loss: all figures agree."""
    with_loss = {
        s.label
        for comparison in comparisons
        for s in comparison.settings
        if any(job.loss(length) is not None for job in s.jobs for length in comparison.lengths)
    }
    return {label: number for number, label in enumerate(sorted(with_loss))}


def styles(comparisons: Sequence[Comparison]) -> dict[str, dict[str, Any]]:
    """Label -> line properties of what has a loss."""
    found = {}
    for label, i in looks(comparisons).items():
        turn = i // len(COLORS)
        marker = MARKERS[(i + 2 * turn) % len(MARKERS)]
        found[label] = {
            "color": COLORS[i % len(COLORS)],
            "marker": marker,
            "linestyle": DASHES[(i + turn) % len(DASHES)],
            "linewidth": 1.6,
            "markersize": 8.5 if marker == "*" else 5.5,
            "markeredgecolor": "white",
            "markeredgewidth": 0.7,
        }
    return found
