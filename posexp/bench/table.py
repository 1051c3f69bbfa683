"""The tables in the terminal: a row for each scheme, a column for each precision and length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich import box
from rich.table import Table

from posexp.bench.row import Row
from posexp.bench.timing import Spread

TITLES = {
    "attention": "Attention alone, forward + backward: time against fused causal attention",
    "step": "Training step: time against NoPE's",
    "decode": "Decoding a token from a cache: time against NoPE's",
    "memory": "Attention alone, forward + backward: peak memory of one row (MB)",
    "peers": "Training step, heads untied: other libraries' time against ours (above 1: ours wins)",
}
RATE_TITLE = "Training step: thousands of tokens a second, share of the matrix peak"
NOTE = (
    "Median of the rounds' ratios, with its quartiles; both sides take turns in every round. "
    "share: the model's own arithmetic against the matrix peak measured in this run."
)
MEGABYTE = 1e6


def tables(rows: Sequence[Row]) -> list[Table]:
    """Every table that `rows` fill."""
    made = []
    for part in TITLES:
        of_part = [row for row in rows if row.part == part]
        if not of_part:
            continue
        if part == "memory":
            made.append(_memory(of_part))
        elif part == "peers":
            made.append(_peers(of_part))
        else:
            cell = _decoding if part == "decode" else lambda row: spread(row.ratio)
            made.append(_table(TITLES[part], of_part, cell))
        if part == "step":
            made.append(
                _table("Training step: thousands of tokens a second, share", of_part, _rate)
            )
    return made


def errors(rows: Sequence[Row]) -> list[str]:
    """What could not be measured, each error once for a part and a label."""
    said = {(r.part, r.label, r.error): None for r in rows if r.error is not None}
    return [f"{part}: {label}: {error}" for part, label, error in said]


def spread(value: Spread | None) -> str:
    """`1.04 (1.03 1.06)`: the median and its quartiles."""
    return "" if value is None else f"{value.median:.2f} ({value.low:.2f} {value.high:.2f})"


def kernels(rows: Iterable[Row]) -> str:
    """The kernels of a table's row; several where they differ between lengths."""
    return " | ".join(dict.fromkeys(row.kernel for row in rows if row.kernel))


Found = dict[tuple[str, int], Row]  # the rows of one label, by precision and length


def _table(
    title: str,
    rows: Sequence[Row],
    cell: Callable[[Row], str],
    last: tuple[str, Callable[[Found], str]] | None = None,
) -> Table:
    """A column for each point, and one more that `last` heads and fills."""
    table = _empty(title)
    table.add_column("scheme", no_wrap=True)
    table.add_column("kernel")
    points = list(dict.fromkeys((row.precision, row.length) for row in rows))
    for precision, length in points:
        table.add_column(f"{precision}\n{length}", justify="right", no_wrap=True)
    if last is not None:
        table.add_column(last[0], justify="right", no_wrap=True)
    for label, found in _by_label(rows).items():
        shown = [_cell(found.get(point), cell) for point in points]
        table.add_row(label, kernels(found.values()), *shown, *([last[1](found)] if last else []))
    return table


def _memory(rows: Sequence[Row]) -> Table:
    """Megabytes by length, and the longest length against the one before it."""
    lengths = sorted({row.length for row in rows})
    before, longest = lengths[-2:] if len(lengths) > 1 else (None, None)

    def growth(found: Found) -> str:
        by_length = {row.length: row.bytes for row in found.values()}
        small, large = by_length.get(before), by_length.get(longest)
        return f"{large / small:.2f}" if small and large else ""

    last = None if before is None else (f"{longest}\n/ {before}", growth)
    return _table(TITLES["memory"], rows, lambda row: f"{row.bytes / MEGABYTE:.0f}", last)


def _peers(rows: Sequence[Row]) -> Table:
    table = _empty(TITLES["peers"])
    for name in ("peer", "ours", "kernel", "precision"):
        table.add_column(name, no_wrap=name != "kernel")
    for name in ("length", "peer / ours", "peer / NoPE", "ours / NoPE"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        ratios = (spread(r) for r in (row.peer_ratio, row.ratio, row.ours_ratio))
        numbers = ("n/a", "", "") if row.error else ratios
        table.add_row(row.label, row.ours, row.kernel, row.precision, str(row.length), *numbers)
    return table


def _decoding(row: Row) -> str:
    return f"{row.seconds.median * 1000:.2f} ms  {spread(row.ratio)}"


def _rate(row: Row) -> str:
    return f"{row.tokens_per_second / 1000:.2f}  {row.share_of_peak:.0%}"


def _cell(row: Row | None, cell: Callable[[Row], str]) -> str:
    if row is None:
        return ""
    return "n/a" if row.error else cell(row)


def _by_label(rows: Sequence[Row]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for row in rows:
        found.setdefault(row.label, {})[row.precision, row.length] = row
    return found


def _empty(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
