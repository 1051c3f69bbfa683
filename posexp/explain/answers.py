"""The words of the page: each scheme in short, the table of facts, and that of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from posexp.explain.facts import FACTS, Fact, answers
from posexp.explain.facts.serving import serving
from posexp.explain.study import Study
from posexp.explain.summary import conflicts, summary
from posexp.page import (
    Block,
    Cell,
    Column,
    Html,
    Looks,
    Note,
    Row,
    Section,
    Table,
    join,
    strong,
    tag,
)

#: Answers that are no news where nothing else is declared.
NOTHING = ("unchanged", "every key is seen")


def declarations(studies: Sequence[Study]) -> list[Section]:
    """In short, and the table of facts."""
    facts = {study.label: answers(study) for study in studies}
    found = [line for label, own in facts.items() for line in conflicts(label, own)]
    notes: list[Block] = [Note(line, kind="error") for line in found]
    if not found:
        notes = [Note("Nothing that was measured contradicts what is declared.", kind="good")]
    columns = [Column("", numeric=False, sortable=False)]
    columns += [Column(study.label, numeric=False, sortable=False) for study in studies]
    rows = [
        Row([question, *(_cell(facts[study.label][question]) for study in studies)])
        for question in FACTS
    ]
    return [
        Section(
            "short",
            "In short",
            [_About([(study.label, summary(study)) for study in studies]), *notes],
        ),
        Section(
            "facts",
            "Measured, and declared",
            [
                "Each answer was measured; below it stands what the scheme declares. An error that "
                "another order of computation would give is none: up to 1e-4, for scores of unit "
                "variance.",
                Table(columns, rows),
            ],
        ),
    ]


@dataclass(frozen=True)
class _About:
    """A sentence on each scheme."""

    pairs: Sequence[tuple[str, str]]

    def html(self, looks: Looks) -> Html:
        if len(self.pairs) == 1:
            return tag("p", self.pairs[0][1])
        return tag(
            "ul",
            *(
                tag("li", join(strong(label), ". ", text), data_key=label)
                for label, text in self.pairs
            ),
        )


def _cell(fact: Fact) -> Cell:
    if fact.conflict:
        return Cell(
            f"CONFLICT. {fact.measured}",
            note=f"declared: {fact.declared}; {fact.conflict}",
            kind="error",
        )
    if fact.measured in NOTHING and fact.declared == "nothing here":
        return Cell(fact.measured, kind="muted")
    return Cell(fact.measured, note=f"declared: {fact.declared}" if fact.declared else "")


def kernels(studies: Sequence[Study]) -> Section:
    """Every kernel against every scheme: the one it gets, those it might, and why not the rest."""
    drawn = [(study, kind) for study in studies for kind in study.kinds]
    found = [serving(study, kind) for study, kind in drawn]
    columns = [Column("kernel", numeric=False, sortable=False)]
    columns += [Column(study.title(kind), numeric=False, sortable=False) for study, kind in drawn]
    rows = []
    for name in dict.fromkeys(name for one in found for name in one.refusals):
        cells = []
        for one in found:
            uses = [
                u for u, k in (("training", one.training), ("decoding", one.decoding)) if k == name
            ]
            why = one.refusals.get(name, "another kind of attention")
            if why is not None:
                cells.append(Cell("no", note=why, kind="muted"))
            elif uses:
                cells.append(Cell(f"used in {' and '.join(uses)}", kind="best"))
            else:
                cells.append(Cell("legal"))
        rows.append([name, *cells])
    return Section(
        "kernels",
        "Which kernels it gets",
        [
            "From the fastest to the most general: the first legal one that takes a pass computes "
            "it. Training is a pass of T tokens; decoding is one new token on T cached ones, both "
            "on a CPU.",
            Table(columns, rows),
        ],
    )
