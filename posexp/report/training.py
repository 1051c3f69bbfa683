"""A job's training, from its metrics.csv."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from posexp.report.jobs import Job
from posexp.report.row import TrainingCurve

MOST_POINTS = 120  # a line: more cannot be told apart on a screen
TRAIN, VAL = "train/loss", "val/bits_per_byte"


def training_curve(job: Job) -> TrainingCurve | None:
    """The losses by step, of every part of a resumed job; None where nothing was logged."""
    found: dict[str, dict[int, float]] = {TRAIN: {}, VAL: {}}
    for row in _rows(job.path):
        for name, points in found.items():
            value = _number(row.get(name))
            step = _number(row.get("step"))
            if value is not None and step is not None:
                points[int(step)] = value  # a part that was trained again replaces the first
    if not any(found.values()):
        return None
    seed = str(job.facts.get("seed", ""))
    return TrainingCurve(job.name, seed, thinned(found[TRAIN]), thinned(found[VAL]))


def thinned(points: dict[int, float], most: int = MOST_POINTS) -> tuple[tuple[int, float], ...]:
    """At most `most` of the points, evenly spread, the first and the last among them."""
    found: Sequence[tuple[int, float]] = sorted(points.items())
    if len(found) <= most:
        return tuple(found)
    return tuple(found[round(i * (len(found) - 1) / (most - 1))] for i in range(most))


def _rows(directory: Path) -> Iterator[dict[str, str]]:
    """The rows of metrics.part1.csv, ... and then of metrics.csv; none of a file that is broken."""
    parts = sorted(directory.glob("metrics.part*.csv"), key=lambda path: (len(path.name), path))
    for path in (*parts, directory / "metrics.csv"):
        try:
            with path.open(newline="", encoding="utf-8") as file:
                yield from csv.DictReader(file)
        except (OSError, UnicodeDecodeError, csv.Error):
            continue


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
