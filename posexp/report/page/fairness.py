"""Whether like is compared with like: every setting that differs, warnings on top."""

from __future__ import annotations

from collections import defaultdict

from posexp import page
from posexp.report.study import WARNING, Differing, Part

# A value is named with so many of its settings, and a row with so many values.
MOST_NAMED, MOST_VALUES = 4, 12


def fairness(part: Part) -> list[page.Content]:
    """Warnings, then a table of everything that differs beyond the scheme and the seed."""
    if len(part.rows) < 2:
        return ["There is only one setting: nothing to compare it with."]
    if not part.fairness:
        return [
            page.Note(
                "Apart from scheme and seed, every recorded setting and fact is the same in all "
                "runs.",
                kind="good",
            )
        ]
    warnings = [d for d in part.fairness if d.verdict == WARNING]
    harmless = [d for d in part.fairness if d.verdict != WARNING]
    head = [page.Note(page.join(page.code(d.name), ": ", d.reason), "warning") for d in warnings]
    if not warnings:
        head = [page.Note("Nothing that differs makes the comparison unfair.", kind="good")]
    table = page.Table(
        [
            page.Column("what differs", numeric=False),
            page.Column("verdict", numeric=False),
            page.Column("values", numeric=False, sortable=False),
            page.Column("why", numeric=False, sortable=False),
        ],
        [_row(d) for d in (*warnings, *harmless)],
    )
    return [*head, table]


def _row(differing: Differing) -> page.Row:
    kind = "warning" if differing.verdict == WARNING else "muted"
    return page.Row(
        [
            differing.name,
            page.Cell(differing.verdict, kind=kind),
            values(differing),
            differing.reason,
        ]
    )


def values(differing: Differing) -> str:
    """Each value and who has it, rare values first: "0.001: a, b; 0.003: c, d, e and 4 more"."""
    by_value: dict[str, list[str]] = defaultdict(list)
    for label, found in differing.values.items():
        by_value[", ".join(found)].append(label)
    ordered = sorted(by_value.items(), key=lambda item: len(item[1]))
    texts = [f"{value}: {_names(labels)}" for value, labels in ordered[:MOST_VALUES]]
    rest = len(ordered) - MOST_VALUES
    return "; ".join([*texts, f"{rest} more values"] if rest > 0 else texts)


def _names(labels: list[str]) -> str:
    if len(labels) <= MOST_NAMED:
        return ", ".join(labels)
    return f"{', '.join(labels[: MOST_NAMED - 1])} and {len(labels) - MOST_NAMED + 1} more"
