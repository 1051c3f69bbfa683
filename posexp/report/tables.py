"""The tables of a study for other programs and for papers: every interval as CSV, and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from posexp.report.estimate import ALIKE, BASELINE, BETTER, WORSE, Contrast, Estimate, Interval
from posexp.report.row import Cell, Row
from posexp.report.study import Part, Study

COLUMNS = (
    *("part", "setting", "figure", "length", "status", "mean", "seeds", "spread", "text_error"),
    *("seeds_low", "seeds_high", "text_low", "text_high", "low", "high"),
    *("p", "p_holm", "family", "verdict", "seeds_needed", "seeds_needed_for_0.01"),
)
CELLS = ("losses", "gains", "foreign", "content", "damage")
NONE = {"diverged": "div.", "undefined": "n/a", "memory": "n/a"}


def to_csv(study: Study) -> str:
    """One line a figure, setting and length: mean, intervals over seeds, over text and over both.

    Bits per byte. `figure` is loss, gain, foreign, content, damage or difference (to the baseline).
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval=None, lineterminator="\r\n")
    writer.writeheader()
    for part in study.parts:
        for row in part.rows:
            writer.writerows({"part": part.title, "setting": row.label, **n} for n in _lines(row))
    return text.getvalue()


def to_latex(study: Study) -> str:
    """A booktabs table a part; needs \\usepackage{booktabs}."""
    made_by = f"% {study.made_by} report; needs \\usepackage{{booktabs}}\n"
    return made_by + "\n".join(_tabular(part) for part in study.parts)


def _lines(row: Row) -> Iterator[dict[str, Any]]:
    for name in CELLS:
        for length, cell in getattr(row, name).items():
            figure = {"losses": "loss", "gains": "gain"}.get(name, name)
            yield {"figure": figure, "length": length, "status": cell.status} | _numbers(
                cell.estimate
            )
    for length, contrast in row.contrasts.items():
        if contrast.verdict == BASELINE:
            continue
        needed = contrast.needed
        yield {
            "figure": "difference",
            "length": length,
            "status": "ok" if contrast.estimate else contrast.words,
            **_numbers(contrast.estimate),
            "p": contrast.p,
            "p_holm": contrast.holm,
            "family": contrast.family or None,
            "verdict": contrast.words,
            "seeds_needed": needed and needed.observed,
            "seeds_needed_for_0.01": needed and needed.hundredth,
        }


def _numbers(found: Estimate | None) -> dict[str, Any]:
    if found is None:
        return {}

    def ends(name: str, interval: Interval | None) -> dict[str, float]:
        return (
            {} if interval is None else {f"{name}low": interval.low, f"{name}high": interval.high}
        )

    return {
        "mean": found.mean,
        "seeds": found.seeds,
        "spread": found.spread,
        "text_error": found.text_error,
        **ends("seeds_", found.over_seeds),
        **ends("text_", found.over_text),
        **ends("", found.both),
    }


def _tabular(part: Part) -> str:
    t = part.context_length
    heads = [_times(length, t) for length in part.lengths]
    minus = f"$-$ {escape(part.baseline)}" if part.baseline else "difference"
    lines = [
        f"% {part.conditions}",
        "% Losses in bits per byte, means over seeds with the half-width of the 95 % t-interval",
        "% over seeds from three seeds on; the difference at T is paired on targets and seeds, its",
        "% interval is over seeds and text. * after Holm's correction at 5 %.",
        rf"\begin{{tabular}}{{l{'r' * (len(heads) + 2)}}}",
        r"\toprule",
        rf" & seeds & {' & '.join(heads)} & {minus} at $T$ \\",
        r"\midrule",
    ]
    for row in part.rows:
        cells = [_cell(row.losses[length]) for length in part.lengths]
        contrast = row.contrasts.get(t) if t is not None else None
        lines.append(
            f"{escape(row.label)} & {_seeds(row)} & {' & '.join(cells)} & {_difference(contrast)}"
            r" \\"
        )
    if order_5 := part.ngram.get("order_5"):
        cells = [f"{order_5:.3f}" if length == t else "" for length in part.lengths]
        lines.append(rf"\midrule 5-gram & & {' & '.join(cells)} & \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _times(length: int, t: int | None) -> str:
    if not t:
        return str(length)
    return "$T$" if length == t else f"${length / t:g}T$"


def _seeds(row: Row) -> int:
    return max((c.estimate.seeds for c in row.losses.values() if c.estimate), default=0)


def _cell(cell: Cell) -> str:
    if cell.estimate is None:
        return NONE.get(cell.status, "--")
    text = f"{cell.estimate.mean:.3f}"
    over_seeds = cell.estimate.over_seeds
    return (
        text if over_seeds is None else rf"{text} {{\scriptsize $\pm$ {over_seeds.half_width:.3f}}}"
    )


def _difference(contrast: Contrast | None) -> str:
    if contrast is None or contrast.estimate is None:
        return "" if contrast is None or contrast.verdict == BASELINE else "--"
    mean, both = contrast.estimate.mean, contrast.estimate.both
    text = f"${mean:+.3f}$"
    if contrast.verdict in (BETTER, WORSE, ALIKE) and both is not None:
        star = "*" if contrast.verdict != ALIKE else ""
        text = rf"${mean:+.3f}${star} {{\scriptsize [{both.low:+.3f}, {both.high:+.3f}]}}"
    return text


def escape(text: str | None) -> str:
    """`text` with the characters that LaTeX takes for itself written out."""
    special = {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    } | {c: f"\\{c}" for c in "&%$#_{}"}
    return "".join(special.get(c, c) for c in text or "")
