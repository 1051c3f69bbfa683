"""What is measured of a scheme and set beside what it declares, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable

from posexp.explain.facts import acting, beyond, growing, serving, symmetry, tables
from posexp.explain.facts.fact import Fact
from posexp.explain.study import Study
from posexp.loading import told

#: Question -> what answers it.
FACTS: dict[str, Callable[[Study], Fact]] = {
    "Positions of tokens": acting.positions,
    "Input of the first layer": acting.inputs,
    "Queries": acting.queries,
    "Keys": acting.keys,
    "Logits, beside q·k": acting.logits,
    "Keys that a query sees": acting.hiding,
    "Values and output": acting.values,
    "Do positions count by distance alone?": symmetry.distance_only,
    "Without a mask: is it blind to order?": symmetry.equivariant,
    "With a causal mask": symmetry.causal_mask,
    "Do cached keys stay valid as the sequence grows?": growing.cached_keys,
    "Decoding from a cache": growing.decoding,
    "Positions that are defined": beyond.defined,
    "Tables: rows that training reaches": tables.trained_rows,
    "Frequencies": beyond.turns_completed,
    "Distances that are one": beyond.saturation,
    "Kernel in training": serving.training_kernel,
    "Kernel in decoding": serving.decoding_kernel,
}


def answers(study: Study) -> dict[str, Fact]:
    """Every question with its answer: a method of the scheme that raises is one as well."""
    found = {}
    for question, measure in FACTS.items():
        try:
            found[question] = measure(study)
        except Exception as error:
            found[question] = Fact(f"could not be measured: {told(error)}")
    return found


__all__ = ["FACTS", "Fact", "answers"]
