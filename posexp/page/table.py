"""Tables whose columns sort and whose rows unfold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from posexp.page.html import Html, tag
from posexp.page.looks import Looks, sample
from posexp.page.numbers import number


@dataclass(frozen=True)
class Column:
    """`numeric` columns are right-aligned; `help` is a sentence shown over the title.

    `group` is a second, wider title: neighbours with one group share it.
    """

    title: str
    numeric: bool = True
    help: str = ""
    sortable: bool = True
    group: str = ""


@dataclass(frozen=True)
class Cell:
    """`text`, the `value` it sorts by (a number or a str; the text by default), and a small
    `note` below it, such as an interval. `kind` is "best", "muted", "warning" or "error"."""

    text: str
    value: float | str | None = None
    note: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Row:
    """One row. `key` is a name of the page's key, drawn before the first cell; `children` are
    rows of the same columns that unfold below this one and move with it."""

    cells: Sequence[Cell | str | float | None]
    children: Sequence[Row] = field(default_factory=tuple)
    key: str | None = None


@dataclass(frozen=True)
class Table:
    """A table that scrolls within itself where it is wider than the page.

    Cells are `Cell`, str, numbers (four significant digits) or None (empty, sorted last). Raises
    `ValueError` where a row has another number of cells than there are columns.
    """

    columns: Sequence[Column | str]
    rows: Sequence[Row | Sequence[Cell | str | float | None]]
    caption: str = ""
    title: str = ""

    def html(self, looks: Looks) -> Html:
        columns = [c if isinstance(c, Column) else Column(c) for c in self.columns]
        rows = [r if isinstance(r, Row) else Row(r) for r in self.rows]
        for row in (r for parent in rows for r in (parent, *parent.children)):
            if len(row.cells) != len(columns):
                raise ValueError(
                    f"a row of {len(row.cells)} cells in a table of {len(columns)} columns: "
                    f"{row.cells[0]!r}"
                )
        unfolds = any(row.children for row in rows)
        head = tag("thead", _groups(columns), tag("tr", *(_title(c) for c in columns)))
        # A body a row: what unfolds moves with its row when the table is sorted.
        bodies = [tag("tbody", *_group(row, columns, looks, unfolds)) for row in rows]
        table = tag("table", head, *bodies)
        every = tag("button", "unfold all rows", type="button", class_="every", hidden=True)
        return tag(
            "figure",
            tag("figcaption", self.title, class_="title") if self.title else None,
            every if unfolds else None,
            tag(
                "div",
                table,
                class_="scroll",
                tabindex=0,
                role="region",
                aria_label=self.title or columns[0].title,
            ),
            tag("figcaption", self.caption, class_="caption") if self.caption else None,
            class_="table",
        )


def _groups(columns: Sequence[Column]) -> Html | None:
    if not any(column.group for column in columns):
        return None
    cells: list[tuple[str, int]] = []
    for column in columns:
        if cells and cells[-1][0] == column.group:
            cells[-1] = (column.group, cells[-1][1] + 1)
        else:
            cells.append((column.group, 1))
    return tag(
        "tr",
        *(tag("th", name, colspan=n, scope="colgroup", class_="group") for name, n in cells),
    )


def _title(column: Column) -> Html:
    inner = tag("button", column.title, type="button") if column.sortable else column.title
    return tag(
        "th", inner, scope="col", class_="n" if column.numeric else None,
        title=column.help or None, aria_sort="none" if column.sortable else None,
    )  # fmt: skip


def _group(row: Row, columns: Sequence[Column], looks: Looks, unfolds: bool) -> list[Html]:
    rows = [_row(row, columns, looks, bool(row.children), None)]
    return rows + [_row(child, columns, looks, False, "child") for child in row.children]


def _row(row: Row, columns: Sequence[Column], looks: Looks, opens: bool, kind: str | None) -> Html:
    cells = []
    for i, (content, column) in enumerate(zip(row.cells, columns, strict=True)):
        cell = _cell(content)
        look = looks.get(row.key) if i == 0 else None
        classes = " ".join(filter(None, ["n" if column.numeric else "", cell.kind]))
        fold = (
            tag("button", type="button", class_="fold", aria_expanded="false",
                aria_label=f"more of {cell.text}", hidden=True)
            if opens and i == 0 else None
        )  # fmt: skip
        name = [fold, sample(look) if look else None, cell.text]
        cells.append(
            tag(
                "td" if i else "th",
                cell.text if i else tag("span", *name, class_="who"),
                tag("small", cell.note) if cell.note else None,
                class_=classes or None, scope=None if i else "row",
                data_v=cell.value if cell.value is not None and cell.value != cell.text else None,
            )
        )  # fmt: skip
    return tag("tr", *cells, class_=kind)


def _cell(content: Cell | str | float | None) -> Cell:
    if isinstance(content, Cell):
        return content
    if content is None or (isinstance(content, float) and math.isnan(content)):
        return Cell("", kind="muted")
    if isinstance(content, str):
        return Cell(content)
    return Cell(number(content), value=content)
