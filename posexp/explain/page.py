"""The page: what was measured beside what is declared, then the pictures, one axis a row."""

from __future__ import annotations

from collections.abc import Sequence

from posexp import __version__
from posexp.explain.answers import declarations, kernels
from posexp.explain.charts import Multiples, Ranges, chart, heat_maps, limits, size_of
from posexp.explain.pictures import MOTIFS, Absent, Motif, Picture, drawn
from posexp.explain.pictures.ladder import table, waves
from posexp.explain.pictures.waves import Waves
from posexp.explain.study import Kind, Study
from posexp.page import Block, Bullets, Code, Column, Details, Facts, Page, Section, Table


def page(studies: Sequence[Study], command: str) -> Page:
    """The page of one or several schemes; `command` is the line that makes it again."""
    labels = [study.label for study in studies]
    several = len(labels) > 1
    return Page(
        title=f"What {_listed(labels)} do{'' if several else 'es'}",
        subtitle="Measured by calling the scheme, without training."
        if not several
        else "Measured by calling the schemes, without training; side by side, one axis a row.",
        keys=labels if several else (),
        shown=len(labels),
        sections=[
            *declarations(studies),
            kernels(studies),
            *(_motif(motif, studies) for motif in MOTIFS),
            _method(studies, command),
        ],
        footer=f"posexp {__version__}",
    )


def _motif(motif: Motif, studies: Sequence[Study]) -> Section:
    """One picture of every scheme that has it, and why the others have none."""
    pictures: list[tuple[Study, Kind, Picture]] = []
    absent: dict[str, list[str]] = {}
    for study in studies:
        for kind in study.kinds[:1] if motif.once else study.kinds:
            found = drawn(motif, study, kind)
            if isinstance(found, Absent):
                who = study.label if motif.once else study.title(kind)
                absent.setdefault(found.reason, []).append(who)
            else:
                pictures.append((study, kind, found))
    body: list[str | Block] = [motif.about]
    if pictures:
        body.append(_multiples(motif, pictures))
    if motif.logarithmic:
        body += _frequencies(pictures)
    if absent:
        body.append(
            Bullets([f"{_listed(who)}: does not apply, {why}." for why, who in absent.items()])
        )
    return Section(motif.id, motif.title, body)


def _multiples(motif: Motif, pictures: Sequence[tuple[Study, Kind, Picture]]) -> Multiples:
    shared = limits(panel for _, _, picture in pictures for panel in picture.panels)
    count = sum(max(1, len(picture.panels)) for _, _, picture in pictures)
    size = size_of(count)
    curves = [curve for _, _, picture in pictures for curve in picture.curves]
    trained = max(study.trained_length for study, _, _ in pictures)
    ranges = Ranges.of(curves, motif.logarithmic, trained) if curves else None
    blocks: list[tuple[str, Block]] = []
    for study, kind, picture in pictures:
        title = study.label if motif.once else study.title(kind)
        if picture.curves:
            length = study.trained_length
            blocks.append(
                (study.label, chart(motif, picture, title, study.label, length, ranges, size))
            )
        blocks += [(study.label, each) for each in heat_maps(picture, title, shared, size)]
    return Multiples(blocks)


def _frequencies(pictures: Sequence[tuple[Study, Kind, Picture]]) -> list[Block]:
    titles = ["rank", "columns", "rad a token", "tokens a turn", "turns within T"]
    blocks: list[Block] = []
    for study, kind, _ in pictures:
        found = waves(study, kind)
        if isinstance(found, Waves):
            rows = table(found, study.trained_length)
            heading = f"The {len(rows)} frequencies of {study.title(kind)}"
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
            "Order and decoding are measured on a whole model with random weights.",
            Facts(pairs),
            Code(command, label="This page again"),
        ],
    )


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
