"""The pictures of the page, in its order. Whether one makes sense for a scheme is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from posexp.explain.pictures import added, decay, inner, ladder, matrices
from posexp.explain.pictures.picture import Absent, Curve, Picture
from posexp.explain.study import Kind, Study
from posexp.loading import told


@dataclass(frozen=True)
class Motif:
    """A section of the page: what is drawn of every scheme, and how to read it.

    `once` is for what a scheme does before the first layer; the rest is drawn for each kind of
    layer. `named` curves (heads excepted) have looks and a key of their own.
    """

    id: str
    title: str
    about: str
    draw: Callable[[Study, Kind], Picture | Absent]
    x_label: str = ""
    y_label: str = ""
    logarithmic: bool = False
    once: bool = False
    named: bool = False


DISTANCE = "distance (tokens)"

MOTIFS = (
    Motif(
        "dimensions", "Position by dimension",
        "What is added to each dimension of the input at each position; for queries and keys, what "
        "is left of the product of a column with itself at each distance; and vectors by distance.",
        matrices.dimensions,
    ),
    Motif(
        "ladder", "The frequency ladder",
        "Tokens that one turn takes, found by calling the scheme: by the eigenvalues of a step of "
        "one token, or from the waves of what is added to the input. Above the dotted line a turn "
        "takes longer than training ever showed.",
        ladder.ladder, "rank, the fastest first", "tokens a turn", logarithmic=True,
    ),
    Motif(
        "inner", "Inner products of the vectors added",
        "p(m)·p(n) against the distance m - n: what the vectors alone say of near and far. The "
        "line is the mean over places, the band all that was seen.",
        inner.products, DISTANCE, "p·p", once=True,
    ),
    Motif(
        "fixed", "Score by distance, of fixed queries and keys",
        "q = k = 1 in every column (before anything is added to the input), projections the "
        "identity. This is the decay that papers draw. The band is over places of the pair.",
        decay.fixed, DISTANCE, "score",
    ),
    Motif(
        "random", "Score by distance, of random queries and keys",
        "The mean of |score| for standard normal q and k, and the band that holds four fifths. A "
        "rotation leaves random vectors as random as they were: what decays above need not here.",
        decay.random, DISTANCE, "|score|",
    ),
    Motif(
        "added", "What is added to the logits",
        "The logits less q·k of the transformed queries and keys, by distance and head, for the "
        "random q and k above: a bias, vectors of distance, or a function of the scores.",
        added.added, DISTANCE, "added to the logit",
    ),
    Motif(
        "visible", "What a query sees",
        "The keys that a query can reach at all, with the model's causal mask.",
        matrices.visibility,
    ),
    Motif(
        "terms", "The four terms of a score",
        "(q + p(m))·(k + p(n)) is q·k + q·p(n) + p(m)·k + p(m)·p(n). The root mean square of each "
        "at each distance, for standard normal q and k of the model's width, over sqrt(D).",
        inner.terms, DISTANCE, "rms", once=True, named=True,
    ),
)  # fmt: skip


def drawn(motif: Motif, study: Study, kind: Kind) -> Picture | Absent:
    """The picture; a method of the scheme that raises is the reason why there is none."""
    try:
        return motif.draw(study, kind)
    except Exception as error:
        return Absent(f"it could not be drawn: {told(error)}")


__all__ = ["MOTIFS", "Absent", "Curve", "Motif", "Picture", "drawn"]
