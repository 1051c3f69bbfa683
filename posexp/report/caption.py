"""What a reader must know before believing a table or a figure."""

from __future__ import annotations

from collections.abc import Sequence

from posexp.objective import NEXT_TOKEN
from posexp.report.comparison import Comparison
from posexp.report.jobs import Job
from posexp.report.recall import notes
from posexp.report.study import Grid


def caption(comparison: Comparison) -> list[str]:
    """The conditions of the comparison and what they do not allow to be claimed, line by line."""
    lines = [conditions(comparison)]
    if any(comparison.differences.values()):
        lines.append(
            f"Minus {against(comparison)}: paired on the same targets and seed, ± 1 standard error "
            "of the test text; under three of them: within noise."
        )
    if comparison.seeds > 1:
        lines.append(
            "Spread: standard deviation over seeds, apart from the standard error above. 95 %, "
            "from three seeds on: of a loss the t-interval over seeds, of a difference that over "
            "seeds and text."
        )
    else:
        lines.append(
            "One seed: another initialisation or data order may change the order of the rows; "
            "three seeds or more tell."
        )
    if note := family_note(comparison):
        lines.append(note)
    if comparison.grid:
        lines.append(grid_note(comparison.grid))
    lines += notes(comparison)
    if comparison.ngram:
        lines.append("n-gram: counted on the train split, measured on every byte of the split.")
    return lines


def family_note(comparison: Comparison) -> str | None:
    """How many comparisons the verdicts at T are corrected for; None where there are none."""
    contrasts = comparison.contrasts.get(comparison.context_length, {}).values()
    family = max((contrast.family for contrast in contrasts), default=0)
    if not family:
        return None
    s = "" if family == 1 else "s"
    pairs = "every pair: the data chose the baseline; --baseline NAME, said beforehand, asks less"
    why = "" if comparison.chosen else f" ({pairs})"
    return f"Better and worse: at 5 % after Holm's correction for {family} comparison{s}{why}."


def grid_note(grid: Grid) -> str:
    """What was chosen and what the grid cost."""
    cost = f"{grid.jobs} jobs, {_short(grid.tokens)} tokens, {grid.seconds:,.0f} s of training"
    return f"{grid.reason} The grid: {cost}."


def against(comparison: Comparison) -> str:
    """What differences are taken from, in a word."""
    return comparison.chosen or "best"


def conditions(comparison: Comparison) -> str:
    """One line: corpus, T, tokens seen, what was scored, seeds."""
    job = comparison.evaluated
    if job is None:
        return "No job has been evaluated yet."
    facts, evaluation = job.facts, job.evaluation
    masked = evaluation.get("masked")
    scored = evaluation.get("targets", "?") if masked is None else f"{masked} masked"
    parts = [
        f"{facts.get('corpus', 'corpus not recorded')}, {evaluation.get('split', '?')} split",
        f"T = {comparison.context_length}",
        f"{tokens_seen(comparison.jobs)} tokens seen in training",
        f"{evaluation.get('anchors', '?')} anchors x {scored} targets",
        f"bos={facts.get('bos', '?')}",
    ]
    if job.objective != NEXT_TOKEN:
        parts.insert(1, f"objective={job.objective}")
    parts.append("one seed" if comparison.seeds == 1 else f"{comparison.seeds} seeds")
    if excluded := evaluation.get("excluded_documents"):
        parts.append(f"{excluded} too short documents excluded")
    return ", ".join(parts) + "."


def tokens_seen(jobs: Sequence[Job]) -> str:
    """The tokens seen in training, as a range where the jobs differ."""
    counts = sorted({n for job in jobs if (n := job.facts.get("tokens_seen")) is not None})
    return " to ".join(dict.fromkeys(_short(n) for n in (counts[:1] + counts[-1:]))) or "?"


def _short(n: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if n >= size:
            return f"{n / size:.3g}{unit}"
    return f"{n:g}"
