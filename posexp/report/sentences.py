"""What a comparison says, in sentences computed from its rows, the most important first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from posexp.report.english import NAMED, are, listed, s
from posexp.report.estimate import (
    ALIKE,
    BETTER,
    DIVERGED,
    FEWEST_SEEDS,
    TOO_FEW,
    WORSE,
    Contrast,
)
from posexp.report.power import HUNDREDTH, MOST_SEEDS
from posexp.report.row import Cell, Row
from posexp.report.study import WARNING, Part

FLAT = 0.01  # bits per byte: a loss that moves less over lengths is called flat


def summary(part: Part) -> tuple[str, ...]:
    """The sentences of a part whose rows are filled in."""
    with_loss = [row for row in part.rows if _mean(row.losses, part.context_length) is not None]
    if not with_loss:
        return ("No job has a result yet.",)
    found = [
        _at_t(part, with_loss),
        _few_seeds(part),
        _needed(part),
        _beyond(part, with_loss),
        _content(part, with_loss),
        _ngram(part, with_loss),
        _recall(part),
        _diverged(part),
        _unfinished(part),
        _unfair(part),
    ]
    return tuple(sentence for sentence in found if sentence)


def _at_t(part: Part, rows: Sequence[Row]) -> str:
    t = part.context_length
    best = min(rows, key=lambda row: _mean(row.losses, t))
    baseline = next((row for row in rows if row.is_baseline), None)
    if baseline is None or part.chosen_by_data:
        text = f"At T = {t}, {best.label} has the lowest loss, {_mean(best.losses, t):.3f} "
    else:
        text = f"At T = {t}, {baseline.label}, the baseline, has {_mean(baseline.losses, t):.3f} "
    words = {BETTER: "better", ALIKE: "not distinguishable from it", WORSE: "worse"}
    parts = [text + "bits per byte"]
    for verdict, word in words.items():
        if names := [row.label for row in rows if row.contrasts[t].verdict == verdict]:
            parts.append(f"{listed(names)} {are(names)} {word}")
    return "; ".join(parts) + "."


def _few_seeds(part: Part) -> str | None:
    few = _at_baseline(part, TOO_FEW)
    if not few:
        return None
    most = max(contrast.estimate.seeds for contrast in few.values())
    if most >= FEWEST_SEEDS:
        return "The test text is too short to tell its own error."
    sizes = [contrast.estimate.mean for contrast in few.values()]
    about = f"{min(sizes):+.3f}" + (f" to {max(sizes):+.3f}" if len(sizes) > 1 else "")
    return (
        f"{'One seed tells' if most == 1 else f'{most} seeds tell'} nothing about another "
        f"initialisation or data order. On this text these models differ from {part.baseline} by "
        f"{about} ({listed(list(few))}); {FEWEST_SEEDS} seeds or more tell whether the schemes do."
    )


def _needed(part: Part) -> str | None:
    """How many seeds would tell what could not be told apart."""
    found = {k: c for k, c in _at_baseline(part, ALIKE, TOO_FEW).items() if c.needed}
    if not found:
        return None

    def seeds(n: int | None) -> str:
        return f"more than {MOST_SEEDS}" if n is None else str(n)

    each = "; ".join(
        f"{label} {seeds(c.needed.observed)} for the {abs(c.estimate.mean):.3f} seen, "
        f"{seeds(c.needed.hundredth)} for {HUNDREDTH}"
        for label, c in list(found.items())[:NAMED]
    )
    return (
        f"Seeds that would find a difference in four of five studies: {each}. This takes paired "
        "differences to be normal with the spread seen, and the error of the text as it is."
    )


def _at_baseline(part: Part, *verdicts: str) -> dict[str, Contrast]:
    """Label -> contrast at T, of the rows with one of `verdicts`."""
    found = {row.label: row.contrasts.get(part.context_length or 0) for row in part.rows}
    return {label: c for label, c in found.items() if c and c.verdict in verdicts}


def _beyond(part: Part, rows: Sequence[Row]) -> str | None:
    t, longest = part.context_length, max(part.lengths)
    if t is None or longest <= t:
        return None
    change = {
        row.label: loss - _mean(row.losses, t)
        for row in rows
        if (loss := _mean(row.losses, longest)) is not None
    }
    parts = []
    if names := [n for n, c in change.items() if c < -FLAT]:
        parts.append(f"{listed(names)} gain{s(names)} from the longer context")
    if names := [n for n, c in change.items() if abs(c) <= FLAT]:
        parts.append(f"{listed(names)} stay{s(names)} within {FLAT} bits of the loss at T")
    if names := [n for n, c in change.items() if c > FLAT]:
        worst = max(names, key=change.__getitem__)
        most = f", {worst} most," if len(names) > 1 else ""
        parts.append(f"{listed(names)} rise{s(names)}{most} by {change[worst]:.2f}")
    if names := [row.label for row in rows if _status(row.losses, longest) == "undefined"]:
        parts.append(f"{listed(names)} {are(names)} not defined")
    return f"At {longest / t:g} T, {'; '.join(parts)}." if parts else None


def _content(part: Part, rows: Sequence[Row]) -> str | None:
    """Who loses where the far context is another document's, beyond what its interval allows."""
    longest = max((n for row in rows for n in row.content), default=None)
    used, tested = [], 0
    for row in rows:
        cell = row.content.get(longest)
        if cell is None or cell.estimate is None or cell.estimate.widest_known is None:
            continue
        tested += 1
        if cell.estimate.widest_known.low > 0 and cell.estimate.mean > FLAT:
            used.append((row.label, cell.estimate.mean))
    if not tested:
        return None
    if not used:
        return f"At {longest}, none uses what stands beyond the last T tokens by more than {FLAT}."
    text = ", ".join(f"{label} ({mean:+.3f})" for label, mean in used[:NAMED])
    return f"At {longest}, a foreign prefix costs what far text was worth: {text}."


def _ngram(part: Part, rows: Sequence[Row]) -> str | None:
    order_5 = part.ngram.get("order_5")
    if order_5 is None:
        return None
    below = [row.label for row in rows if _mean(row.losses, part.context_length) < order_5]
    if not below:
        return f"Counting the last four bytes is better than all of them: {order_5:.3f} (5-gram)."
    if len(below) == len(rows):
        return None
    return f"Only {listed(below)} beat{s(below)} a 5-gram model ({order_5:.3f}) at T."


def _recall(part: Part) -> str | None:
    longest = max((n for row in part.rows for n in row.recalled), default=None)
    found = [
        (row.recalled[longest].mean, row)
        for row in part.rows
        if longest in row.recalled and row.recalled[longest].mean is not None
    ]
    if not found:
        return None
    accuracy, best = max(found, key=lambda pair: pair[0])
    task = best.recalled[longest].task
    return f"At {longest}, {best.label} recalls most of {task}: {100 * accuracy:.0f} %."


def _diverged(part: Part) -> str | None:
    names = [
        row.label
        for row in part.rows
        if any(contrast.verdict == DIVERGED for contrast in row.contrasts.values())
        or "diverged" in row.outcome
    ]
    return f"Diverged, in some seed or at some length: {listed(names)}." if names else None


def _unfinished(part: Part) -> str | None:
    n = len([failure for failure in part.failures if failure.outcome != "diverged"])
    return f"{n} job{'' if n == 1 else 's'} without a result: see failures." if n else None


def _unfair(part: Part) -> str | None:
    names = [item.name for item in part.fairness if item.verdict == WARNING]
    return f"Not like with like in {listed(names)}: see fairness." if names else None


def _mean(cells: Mapping[int, Cell], length: int | None) -> float | None:
    cell = cells.get(length or 0)
    return None if cell is None or cell.estimate is None else cell.estimate.mean


def _status(cells: Mapping[int, Cell], length: int) -> str | None:
    return cells[length].status if length in cells else None
