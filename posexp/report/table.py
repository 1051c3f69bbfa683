"""The table in the terminal: every job, what its difference from the best is worth, and why a
job has no number."""

from __future__ import annotations

from rich import box
from rich.table import Table

from posexp.evaluation.statistics import Difference
from posexp.report.caption import against
from posexp.report.comparison import Comparison
from posexp.report.estimate import ALIKE, TOO_FEW, Contrast
from posexp.report.jobs import Job
from posexp.report.recall import recalls
from posexp.report.setting import Setting

NOT_AVAILABLE = {"undefined": "n/a", "memory": "n/a\n(memory)", "diverged": "diverged"}
STATUS_STYLE = {"completed": "green", "running": "yellow", "failed": "red", "diverged": "magenta"}

BEYOND_NOTE = (
    "gain: loss at T minus loss here; positive = context is used, 0 = ignored, negative = broken. "
    "Foreign prefix: all but the nearest T tokens come from another document; use of content: "
    "foreign minus own; damage: foreign minus loss at T, the price of unseen positions."
)


def results_table(comparison: Comparison) -> Table:
    """Losses at every length, best first, with the paired difference at T."""
    t = comparison.context_length
    table = Table(
        title="Anchored loss in bits per byte (lower is better)",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("rank", justify="right")
    table.add_column("MRR", justify="right")
    table.add_column("setting", no_wrap=True)
    table.add_column("seed", justify="right")
    for length in comparison.lengths:
        at_t = length == t
        table.add_column(
            f"{length}\n= T" if at_t else f"{length}\n{_times(length, t)}",
            justify="right",
            style="bold" if at_t else "",
        )
    table.add_column(f"minus {against(comparison)}\nat T", justify="right", no_wrap=True)
    tasks = recalls(comparison)
    for recall in tasks:
        times = "= T" if recall.length == t else _times(recall.length, t)
        table.add_column(f"{recall.task}\n{times}", justify="right", no_wrap=True)
    table.add_column("status")
    ranks, mrr = comparison.ranks(), comparison.reciprocal_ranks
    several = comparison.seeds > 1
    for setting in comparison.settings:
        rank, reciprocal = ranks.get(setting.label), mrr[setting.label]
        head = [
            "" if rank is None else str(rank),
            "" if rank is None or reciprocal is None else f"{reciprocal:.2f}",
            setting.label,
        ]
        for number, job in enumerate(setting.jobs):
            table.add_row(
                *(head if number == 0 else ["", "", ""]),
                str(job.facts.get("seed", "")),
                *(loss_cell(job, length) for length in comparison.lengths),
                difference_cell(comparison, setting, job, t),
                *(recall.cell(job) for recall in tasks),
                f"[{STATUS_STYLE.get(job.outcome, 'dim')}]{job.outcome}[/]",
                end_section=several and len(setting.jobs) == 1,
            )
        if len(setting.jobs) > 1:
            _add_seed_rows(table, comparison, setting)
    table.add_section()
    for order, loss in comparison.ngram.items():
        cells = [f"{loss:.3f}" if length == t else "" for length in comparison.lengths]
        name = f"{order.replace('order_', 'order-')} n-gram"
        table.add_row("", "", name, "", *cells, style="dim")
    return table


def beyond_table(comparison: Comparison) -> Table | None:
    """What the longest context does: better or worse than T, and whether content is used."""
    t, longest = comparison.context_length, max(comparison.lengths, default=0)
    if not t or longest <= t:
        return None
    table = Table(
        title=f"At {longest} = {_times(longest, t)}: what the longer context does",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("setting", no_wrap=True)
    minus = f"minus {comparison.baseline.label}" if comparison.baseline else "difference"
    for column in ("seed", "loss", minus, "gain", "use of content", "damage"):
        table.add_column(column, justify="right", no_wrap=True)
    for setting in comparison.settings:
        for job in setting.jobs:
            if longest not in job.losses():
                continue
            own, at_t, foreign = job.loss(longest), job.loss(t), job.loss(longest, "foreign")
            table.add_row(
                setting.label,
                str(job.facts.get("seed", "")),
                loss_cell(job, longest),
                difference_cell(comparison, setting, job, longest),
                _signed(at_t, own),
                _signed(foreign, own),
                _signed(foreign, at_t),
            )
    return table


def loss_cell(job: Job, length: int) -> str:
    """The loss, or the reason why there is none."""
    if job.diverged(length) and job.loss(job.context_length) is None:
        return "-"  # the status says it once
    entry = job.losses().get(length)
    if entry is None:
        return ""
    if entry.get("bits_per_byte") is None:
        return NOT_AVAILABLE.get(entry.get("status", ""), "n/a")
    return f"{entry['bits_per_byte']:.3f}"


def difference_cell(comparison: Comparison, setting: Setting, job: Job, length: int | None) -> str:
    """The paired difference, its standard error, and whether it is three of them."""
    if setting is comparison.baseline:
        at_t = length == comparison.context_length
        return "best" if at_t and comparison.chosen is None else "baseline"
    found = comparison.differences.get(length, {}).get(job.name)
    return "" if found is None else difference_text(found)


def difference_text(difference: Difference) -> str:
    """Such as `+0.205 ± 0.013`, with `within noise` below it under three standard errors."""
    if difference.standard_error is None:
        return f"{difference.bits_per_byte:+.3f}\ns.e. unknown"
    error = difference.standard_error
    text = f"{difference.bits_per_byte:+.3f} ± " + (f"{error:.3f}" if error >= 5e-4 else "<0.001")
    return text if difference.significant else f"{text}\nwithin noise"


def _add_seed_rows(table: Table, comparison: Comparison, setting: Setting) -> None:
    found = [setting.summary(length) for length in comparison.lengths]
    contrast = comparison.contrasts.get(comparison.context_length, {}).get(setting.label)
    count = max((e.seeds for e in found if e), default=0)
    intervals = [e and e.over_seeds for e in found]
    rows = [
        ("mean", [e and f"{e.mean:.3f}" for e in found], _mean_difference(contrast)),
        (
            "spread",
            [e and e.spread is not None and f"{e.spread:.3f}" for e in found],
            _spread_of_difference(contrast),
        ),
        ("95 %", [i and f"± {i.half_width:.3f}" for i in intervals], _interval(contrast)),
    ]
    rows = [(name, [cell or "" for cell in (*cells, last)]) for name, cells, last in rows]
    rows = [(name, cells) for name, cells in rows if any(cells)]
    for name, cells in rows:
        last = name == rows[-1][0]
        if name == "mean":
            cells += [recall.mean(setting) for recall in recalls(comparison)]
            cells.append(f"{count} of {len(setting.jobs)} seeds")
        table.add_row("", "", "", name, *cells, style="italic", end_section=last)


def _mean_difference(contrast: Contrast | None) -> str:
    if contrast is None or contrast.estimate is None:
        return ""
    mean = f"{contrast.estimate.mean:+.3f}"
    return {
        ALIKE: f"{mean}\nnot distinguishable",
        TOO_FEW: f"{mean}\ntoo few seeds",
    }.get(contrast.verdict, f"{mean}\n{contrast.verdict}")


def _spread_of_difference(contrast: Contrast | None) -> str:
    spread = None if contrast is None or contrast.estimate is None else contrast.estimate.spread
    return "" if spread is None else f"{spread:.3f}"


def _interval(contrast: Contrast | None) -> str:
    both = None if contrast is None or contrast.estimate is None else contrast.estimate.both
    return "" if both is None else f"± {both.half_width:.3f}"


def _times(length: int, t: int | None) -> str:
    return f"{length / t:g} T" if t else ""


def _signed(a: float | None, b: float | None) -> str:
    return "" if a is None or b is None else f"{a - b:+.3f}"
