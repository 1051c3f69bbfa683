"""The page: what was measured beside what is declared, then the pictures, one axis a row."""

from __future__ import annotations

from collections.abc import Sequence

from posexp import __version__
from posexp.explain.answers import declarations, kernels
from posexp.explain.charts import FLAT, Drawn, Multiples, Ranges, chart, matrices, size_of
from posexp.explain.pictures import MOTIFS, Absent, Motif, drawn
from posexp.explain.pictures.ladder import table, waves
from posexp.explain.pictures.waves import Waves
from posexp.explain.study import Study
from posexp.page import Block, Bullets, Code, Column, Details, Facts, Page, Section, Table, Views

#: Characters of a title.
LONGEST = 70


def page(studies: Sequence[Study], command: str) -> Page:
    """The page of one or several schemes; `command` is the line that makes it again."""
    labels = [study.label for study in studies]
    several = len(labels) > 1
    return Page(
        title=_title(labels),
        subtitle="Measured by calling the scheme, without training."
        if not several
        else "Measured by calling the schemes, without training; side by side, one axis a row.",
        keys=labels if several else (),
        shown=len(labels),
        sections=[
            *declarations(studies),
            kernels(studies),
            *_motifs(studies),
            _method(studies, command),
        ],
        footer=f"posexp {__version__}",
    )


def _motifs(studies: Sequence[Study]) -> list[Section]:
    """A section for each picture that somebody has; the others are named in one at the end."""
    sections, nobody = [], []
    for motif in MOTIFS:
        pictures, absent = _pictures(motif, studies)
        told = [f"{_listed(who)}: does not apply, {why}." for why, who in absent.items()]
        if not pictures:
            nobody += [f"{motif.title}. {line}" for line in told]
            continue
        body: list[str | Block] = [motif.about, _rows(motif, pictures)]
        if motif.logarithmic:
            body += _frequencies(pictures)
        if told:
            body.append(Bullets(told))
        sections.append(Section(motif.id, motif.title, body))
    if nobody:
        sections.append(Section("absent", "Pictures that do not apply", [Bullets(nobody)]))
    return sections


def _pictures(motif: Motif, studies: Sequence[Study]) -> tuple[list[Drawn], dict[str, list[str]]]:
    """One picture of every scheme that has it, and why the others have none."""
    pictures: list[Drawn] = []
    absent: dict[str, list[str]] = {}
    for study in studies:
        for kind in study.kinds[:1] if motif.once else study.kinds:
            title = study.label if motif.once else study.title(kind)
            found = drawn(motif, study, kind)
            if isinstance(found, Absent):
                absent.setdefault(found.reason, []).append(title)
            else:
                pictures.append(Drawn(study, kind, title, found))
    return pictures, absent


def _rows(motif: Motif, pictures: Sequence[Drawn]) -> Block:
    """Small multiples; where one scale makes some of them flat, each can be seen on its own."""
    if not pictures[0].picture.curves:
        return matrices(pictures)
    level = max(p.study.trained_length for p in pictures)

    def ranges(*chosen: Drawn) -> Ranges:
        curves = [curve for p in chosen for curve in p.picture.curves]
        return Ranges.of(curves, motif.logarithmic, level)

    shared, own = ranges(*pictures), [ranges(p) for p in pictures]
    size = size_of(len(pictures))

    def multiples(scales: Sequence[Ranges]) -> Multiples:
        return Multiples([
            (p.study.label, chart(motif, p, scale, size))
            for p, scale in zip(pictures, scales, strict=True)
        ])  # fmt: skip

    one = multiples([shared] * len(pictures))
    if motif.logarithmic or all(scale.height * FLAT > shared.height for scale in own):
        return one
    return Views({"one scale": one, "each its own scale": multiples(own)})


def _frequencies(pictures: Sequence[Drawn]) -> list[Block]:
    titles = ["rank", "columns", "rad a token", "tokens a turn", "turns within T"]
    blocks: list[Block] = []
    for p in pictures:
        found = waves(p.study, p.kind)
        if isinstance(found, Waves):
            rows = table(found, p.study.trained_length)
            heading = f"The frequencies of {p.title}: {len(rows)}"
            blocks.append(Details(heading, [Table([Column(t) for t in titles], rows)]))
    return blocks


def _method(studies: Sequence[Study], command: str) -> Section:
    pairs = []
    for study in studies:
        dims = study.dims
        pairs.append((
            study.label,
            f"{study.exhibit.origin}; d_model {dims.d_model}, {dims.n_heads} heads of width "
            f"{dims.d_head} on {dims.n_kv_heads} key/value heads, {dims.n_layers} layers, T = "
            f"{dims.context_length}, {'causal' if dims.causal else 'both directions'}. In the "
            f"pictures, {study.note}.",
        ))  # fmt: skip
    return Section(
        "method",
        "How this was measured",
        [
            "Facts are measured with every parameter of the scheme moved away from where it starts "
            "(a table of zeros would hide what it can do), errors on random inputs, in float32. "
            "Order and decoding are measured on a whole model with random weights. Scores are "
            "what a softmax would get, whatever model.attention does with them.",
            Facts(pairs),
            Code(command, label="This page again"),
        ],
    )


def _title(labels: Sequence[str]) -> str:
    """What it is about, as far as that is a title and no list of settings."""
    if len(labels) == 1:
        return f"What {labels[0]} does"
    named = _listed(labels)
    return f"What {named if len(named) <= LONGEST else f'{len(labels)} schemes'} do"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
