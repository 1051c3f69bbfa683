"""The ladder of wavelengths, and which of them never completed a turn in training."""

from __future__ import annotations

import numpy as np

from posexp.explain.pictures.picture import Absent, Curve, Picture
from posexp.explain.pictures.waves import Waves, added_waves, rotations
from posexp.explain.study import Kind, Study
from posexp.page import number


def waves(study: Study, kind: Kind) -> Waves | Absent:
    """The frequencies of rotations, else of the vectors added to the input."""
    found = rotations(study, kind)
    if isinstance(found, Waves):
        return found
    added = added_waves(study)
    if isinstance(added, Waves):
        return added
    acts_on = study.drawn.for_layer(kind.number).acts_on | study.drawn.acts_on
    if "embed" in acts_on:
        return added
    if acts_on & {"transform_query", "transform_key"}:
        return found
    return Absent("it turns no queries or keys and adds nothing to the input")


def ladder(study: Study, kind: Kind) -> Picture | Absent:
    """Wavelengths in tokens, the fastest first."""
    found = waves(study, kind)
    if isinstance(found, Absent):
        return found
    lengths = found.lengths
    text = f"{len(lengths)} frequencies, of {number(lengths[0])} to {number(lengths[-1])} tokens"
    if len(lengths) == 1:
        text = f"One frequency, of {number(lengths[0])} tokens"
    text += f" a turn. {turns(found, study.trained_length)}."
    if found.still:
        text += f" {found.still} columns do not turn."
    change = np.abs(found.growth - 1).max()
    if change > 1e-6:
        text += f" The length of a pair changes by a share of {change:.2g} a token at most."
    return Picture(text, [Curve("wavelength", np.arange(len(lengths)), lengths)])


def turns(found: Waves, tokens: int) -> str:
    """How many frequencies never completed a turn, and what follows."""
    unfinished, total = found.unfinished(tokens), len(found.lengths)
    if not unfinished:
        return f"{'Each completes' if total > 1 else 'It completes'} a turn within T = {tokens:,}"
    count = f"{unfinished} of {total} never" if total > 1 else "It never"
    return (
        f"{count} completed a turn within T = {tokens:,}: beyond it angles appear that training "
        "never showed"
    )


def table(found: Waves, tokens: int) -> list[list[float]]:
    """Rows of rank, columns, rad a token, tokens a turn, and turns within `tokens`."""
    found_rows = zip(found.columns, found.angles, found.lengths, strict=True)
    return [[i, int(c), w, length, tokens / length] for i, (c, w, length) in enumerate(found_rows)]
