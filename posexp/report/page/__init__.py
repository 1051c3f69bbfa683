"""A study as one HTML file: what it says in sentences, then in tables and charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from posexp import page
from posexp.report.page.by_length import loss_by_length
from posexp.report.page.by_position import loss_by_position
from posexp.report.page.controls import controls
from posexp.report.page.cost import cost_and_quality
from posexp.report.page.differences import differences
from posexp.report.page.failures import failures
from posexp.report.page.fairness import fairness
from posexp.report.page.grid import grid
from posexp.report.page.main_table import main_table
from posexp.report.page.origins import origins
from posexp.report.page.training import training_curves
from posexp.report.study import Part, Study

__all__ = ["report_page"]

# (anchor, title, what a part says there), in reading order.
SECTIONS: tuple[tuple[str, str, Callable[[Part], Sequence[page.Content]]], ...] = (
    ("table", "Results", main_table),
    ("length", "Loss against length", loss_by_length),
    ("differences", "Differences", differences),
    ("controls", "Is far context used?", controls),
    ("position", "Loss by position", loss_by_position),
    ("cost", "Cost and quality", cost_and_quality),
    ("training", "Training", training_curves),
    ("grid", "Optimizer grid", grid),
    ("fairness", "Like with like?", fairness),
    ("failures", "Failures", failures),
)


TITLES = {anchor: title for anchor, title, _ in SECTIONS}
SEE_FAIRNESS = "see fairness."


def report_page(study: Study) -> str:
    """The whole report of `study` as one self-contained HTML text."""
    sections = [page.Section("summary", "Summary", _summary(study))]
    for anchor, title, build in SECTIONS:
        body: list[page.Content] = []
        for part in study.parts:
            found = build(part)
            if found and len(study.parts) > 1:
                body.append(page.Heading(part.title))
            body += found
        if body:
            sections.append(page.Section(anchor, title, body))
    sections.append(page.Section("origins", "How to reproduce it", origins(study)))
    return page.Page(
        _title(study),
        _subtitle(study),
        sections,
        keys=_keys(study),
        notes=_losses(study),
        footer=f"{study.made_by}, from {', '.join(map(str, study.directories))}",
    ).render()


def _summary(study: Study) -> list[page.Content]:
    content: list[page.Content] = []
    for part in study.parts:
        if len(study.parts) > 1:
            content += [page.Heading(part.title), part.conditions]
        if part.summary:
            lead, *others = part.summary
            warnings = [s for s in others if s.endswith(SEE_FAIRNESS)]
            content.append(page.Lead(_linked(lead)))
            content.append(page.Bullets([_linked(s) for s in others if s not in warnings]))
            content += [page.Note(_linked(s), "warning") for s in warnings]
    notes = list(dict.fromkeys([*study.notes, *(n for part in study.parts for n in part.notes)]))
    return [*content, page.Details("How to read this", page.Bullets(notes))] if notes else content


def _linked(sentence: str) -> str:
    """A sentence whose "see failures." leads there."""
    front, see, anchor = sentence.rpartition(" see ")
    title = TITLES.get(anchor.rstrip("."))
    if not see or title is None:
        return sentence
    link = page.tag("a", title, href=f"#{anchor.rstrip('.')}")
    return page.join(
        front, " see \N{LEFT DOUBLE QUOTATION MARK}", link, "\N{RIGHT DOUBLE QUOTATION MARK}."
    )


def _title(study: Study) -> str:
    if len(study.parts) != 1:
        return study.title
    (part,) = study.parts
    return f"{part.title}: {len(part.rows)} setting{'' if len(part.rows) == 1 else 's'}"


def _subtitle(study: Study) -> str:
    if len(study.parts) == 1:
        return study.parts[0].conditions
    return f"{len(study.parts)} groups of runs that were scored on different targets."


def _keys(study: Study) -> dict[str, int]:
    """Label -> number of its look, the best first."""
    rows = [row for part in study.parts for row in part.rows if row.look is not None]
    return {row.label: row.look for row in rows}


def _losses(study: Study) -> dict[str, str]:
    """Label -> its loss at T, where there is one T."""
    if len(study.parts) != 1:
        return {}
    (part,) = study.parts
    found = {row.label: row.losses.get(part.context_length or 0) for row in part.rows}
    return {k: f"{c.estimate.mean:.3f}" for k, c in found.items() if c and c.estimate}
