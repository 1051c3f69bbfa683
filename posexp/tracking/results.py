"""What an evaluation says, as metrics: one value per length, and rows along an axis for curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from posexp.tracking import names


def scalar_metrics(evaluation: Mapping[str, Any]) -> dict[str, float]:
    """`eval/bits_per_byte_1024`, and `task/NAME/accuracy_1024` over all distances.

    Lengths that could not be measured are left out.
    """
    metrics = _values(f"{names.BITS_BY_LENGTH}_", evaluation["anchored"], "bits_per_byte")
    if (task := evaluation.get("task")) is not None:
        metrics |= _values(f"task/{task['name']}/accuracy_", task["lengths"], "accuracy")
    return metrics


def curve_rows(evaluation: Mapping[str, Any]) -> list[dict[str, float]]:
    """Rows of a history, each with its axis: by length, by position, by distance.

    Positions are counted as the inputs that the last of a bucket sees. Distances are those of the
    longest length that a task was measured at.
    """
    by_length: dict[int, dict[str, float]] = {}
    task = evaluation.get("task") or {"lengths": [], "rows": []}
    for metric, rows, field in (
        (names.BITS_BY_LENGTH, evaluation["anchored"], "bits_per_byte"),
        (names.GAIN_BY_LENGTH, evaluation["anchored"], "gain"),
        (names.FOREIGN_BY_LENGTH, evaluation["foreign"], "bits_per_byte"),
        (names.ACCURACY_BY_LENGTH, task["lengths"], "accuracy"),
    ):
        for row in _measured(rows, field):
            by_length.setdefault(row["length"], {})[metric] = row[field]
    rows = [{names.LENGTH: n, **found} for n, found in sorted(by_length.items())]
    rows += [
        {names.POSITION: row["last"] + 1, names.BITS_BY_POSITION: row["bits_per_byte"]}
        for row in _measured(evaluation["curve"], "bits_per_byte")
    ]
    at = list(_measured(task["rows"], "accuracy"))
    longest = max((row["length"] for row in at), default=None)
    rows += [
        {names.DISTANCE: row["distance"], names.ACCURACY_BY_DISTANCE: row["accuracy"]}
        for row in sorted(at, key=lambda row: row["distance"])
        if row["length"] == longest
    ]
    return rows


def _measured(rows: Iterable[Mapping[str, Any]], field: str) -> Iterable[Mapping[str, Any]]:
    return (row for row in rows if row[field] is not None)


def _values(prefix: str, rows: Iterable[Mapping[str, Any]], field: str) -> dict[str, float]:
    return {f"{prefix}{row['length']}": row[field] for row in _measured(rows, field)}
