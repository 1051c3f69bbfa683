"""What a scheme does in a sentence or two, put together from what was measured."""

from __future__ import annotations

from posexp.explain.facts import Fact
from posexp.explain.facts.acting import Acting, acting
from posexp.explain.facts.growing import growth
from posexp.explain.facts.symmetry import shift
from posexp.explain.pictures.ladder import waves
from posexp.explain.pictures.waves import Waves
from posexp.explain.study import Study
from posexp.loading import told
from posexp.testing.compare import NOISE

PLACES = {
    "moves positions": lambda a: a.positions,
    "changes the input": lambda a: a.input,
    "transforms queries": lambda a: a.queries,
    "transforms keys": lambda a: a.keys,
    "adds to the logits": lambda a: a.logits,
    "hides keys": lambda a: float(a.hidden),
    "changes what is summed of the values": lambda a: a.output,
}


def summary(study: Study) -> str:
    """Where it acts, what scores depend on, and what training leaves out."""
    try:
        return _summary(study)
    except Exception as error:
        return f"It could not be measured: {told(error)}."


def _summary(study: Study) -> str:
    found = [acting(study, kind) for kind in study.kinds]
    sentences = [f"{_places(found)}."]
    shifts = [shift(study, kind) for kind in study.kinds]
    if study.drawn.acts_on and all(s.near for s in shifts):
        alone = all(s.invariant for s in shifts)
        sentences.append(
            "Positions count by distance alone." if alone else "It matters where a pair stands."
        )
    grown = growth(study)
    if max(grown.within, grown.beyond) > NOISE:
        sentences.append("Keys of earlier tokens change as the sequence grows.")
    if (limit := study.drawn.max_length) is not None:
        sentences.append(f"It ends after {limit:,} positions.")
    length = study.trained_length
    for kind in study.kinds:
        ladder = waves(study, kind)
        if isinstance(ladder, Waves) and (count := ladder.unfinished(length)):
            where = "" if len(study.kinds) == 1 else f" ({kind.where})"
            sentences.append(
                f"{count} of {len(ladder.lengths)} frequencies never complete a turn within "
                f"T = {length}{where}."
            )
    return " ".join(sentences)


def _places(found: list[Acting]) -> str:
    parts = [text for text, size in PLACES.items() if any(size(a) > NOISE for a in found)]
    if not parts:
        return "It changes nothing at all: whatever is known of positions comes from the mask"
    if {"transforms queries", "transforms keys"} <= set(parts):
        parts.remove("transforms keys")
        parts[parts.index("transforms queries")] = "transforms queries and keys"
    *first, last = parts
    return f"It {', '.join(first)} and {last}" if first else f"It {last}, and nothing else"


def conflicts(label: str, facts: dict[str, Fact]) -> list[str]:
    """Each measured fact that a declaration contradicts, in a line."""
    return [
        f"{label}. {question.rstrip('?')}: {fact.conflict}. Measured: {fact.measured}; "
        f"declared: {fact.declared or 'nothing'}."
        for question, fact in facts.items()
        if fact.conflict
    ]
