"""Every setting minus the baseline, with what may be said of it."""

from __future__ import annotations

from statistics import median

from posexp import page
from posexp.report.estimate import BASELINE, BETTER, WORSE, Contrast, Interval
from posexp.report.page.main_table import shown_lengths
from posexp.report.page.words import length_name
from posexp.report.row import Row
from posexp.report.study import Part

# An axis that holds a difference this many times the median one shows nothing of the others.
FAR, CUT = 8, 4
MANY = 40  # settings from which on only T and the longest length are shown
LEAST = 0.02  # bits per byte that the axis always holds

CAPTION = (
    "A row a setting: the difference in bits per byte, paired on the same targets and seeds, with "
    "its 95 % interval; small dots are seeds. Left of zero is better than the baseline. Hollow: "
    "nothing is claimed. A triangle lies beyond the axis."
)


def differences(part: Part) -> list[page.Content]:
    """Intervals and the numbers behind them, one view a length from T on."""
    if part.baseline is None:
        return ["There is no setting with a result to compare the others with."]
    if len(part.rows) < 2:
        return ["There is only one setting: nothing to compare it with."]
    chosen = "the best at T, chosen by these data" if part.chosen_by_data else "as asked for"
    lengths = [n for n in shown_lengths(part) if any(n in row.contrasts for row in part.rows)]
    if len(part.rows) > MANY and lengths:
        lengths = list(dict.fromkeys([lengths[0], lengths[-1]]))
    views = {length_name(n, part.context_length): _view(part, n) for n in lengths}
    counted = (
        " Since the data chose it, any two settings could have become the pair that is looked at, "
        "so Holm's correction counts every pair."
        if part.chosen_by_data
        else " Holm's correction counts every setting compared with it."
    )
    baseline = page.join("Baseline: ", page.strong(part.baseline), f", {chosen}.", counted)
    return [baseline, page.Views(views)]


def _view(part: Part, length: int) -> list[page.Content]:
    found = [(row, row.contrasts[length]) for row in part.rows if length in row.contrasts]
    others = [(row, c) for row, c in found if c.verdict != BASELINE]
    others.sort(key=lambda pair: (pair[1].estimate is None, _mean(pair[1])))
    chart = page.Intervals(
        [_estimate(row, contrast) for row, contrast in others],
        f"bits per byte minus {part.baseline}",
        limits=common_axis([contrast for _, contrast in others]),
        caption=CAPTION,
    )
    return [chart, page.Details("the numbers behind", _numbers(others))]


def _mean(contrast: Contrast) -> float:
    return contrast.estimate.mean if contrast.estimate else 0.0


def _estimate(row: Row, contrast: Contrast) -> page.Estimate:
    muted = contrast.verdict not in (BETTER, WORSE)
    if contrast.estimate is None:
        return page.Estimate(row.label, None, verdict=contrast.words, muted=True)
    interval = contrast.estimate.widest_known
    return page.Estimate(
        row.label,
        contrast.estimate.mean,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        points=[value for _, value in contrast.by_seed] if len(contrast.by_seed) > 1 else (),
        # The interval already stands beside a difference that is claimed.
        verdict=contrast.words if muted else contrast.verdict,
        muted=muted,
    )


def common_axis(contrasts: list[Contrast]) -> tuple[float, float] | None:
    """The ends of an axis for most of the intervals, where a few lie far beyond; else None."""
    found = [c.estimate for c in contrasts if c.estimate]
    intervals = [e.widest_known or Interval(e.mean, e.mean) for e in found]
    ends = [abs(v) for i in intervals for v in (i.low, i.high)]
    if not ends:
        return -LEAST, LEAST
    cut = max(CUT * median(ends), LEAST)
    if max(ends) <= cut * FAR / CUT:
        return None
    low, high = min(i.low for i in intervals), max(i.high for i in intervals)
    return min(-LEAST, max(low, -cut)), max(LEAST, min(high, cut))


def _numbers(found: list[tuple[Row, Contrast]]) -> page.Table:
    columns = [
        page.Column("setting", numeric=False),
        page.Column("difference"),
        page.Column("over seeds", group="95 % interval"),
        page.Column("over text", group="95 % interval"),
        page.Column("both", group="95 % interval"),
        page.Column("p", help="two-sided, over seeds and text"),
        page.Column("p, Holm", help="corrected for the comparisons at this length"),
        page.Column("for this", group="seeds needed", help="to find the difference seen"),
        page.Column("for 0.01", group="seeds needed", help="to find 0.01 bits per byte"),
        page.Column("verdict", numeric=False),
    ]
    return page.Table(
        columns,
        [page.Row(_cells(row, contrast), key=row.label) for row, contrast in found],
        caption=(
            "Seeds needed: for four studies of five to find such a difference at 5 %, as far as "
            "the spread of so few seeds tells; >100: more than a hundred, or never, as the error "
            "of the text remains."
        ),
    )


def _cells(row: Row, contrast: Contrast) -> list[page.Cell | str | None]:
    e = contrast.estimate
    if e is None:
        return [row.label, *([None] * 8), contrast.words]
    needed = contrast.needed
    return [
        row.label,
        page.Cell(page.number(e.mean, "+.4f"), value=e.mean),
        _interval(e.over_seeds),
        _interval(e.over_text),
        _interval(e.both),
        _p(contrast.p),
        _p(contrast.holm),
        _seeds(needed.observed) if needed else None,
        _seeds(needed.hundredth) if needed else None,
        contrast.words,
    ]


def _interval(found: Interval | None) -> page.Cell | None:
    if found is None:
        return None
    text = f"{page.number(found.low, '+.3f')} to {page.number(found.high, '+.3f')}"
    return page.Cell(text, value=found.half_width)


def _p(value: float | None) -> page.Cell | None:
    if value is None:
        return None
    return page.Cell("<0.001" if value < 0.001 else f"{value:.3f}", value=value)


def _seeds(n: int | None) -> page.Cell:
    return page.Cell(">100", value=101) if n is None else page.Cell(str(n), value=n)
