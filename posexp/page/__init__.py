"""One-file HTML pages: charts drawn as SVG in Python, a small script for hover, key and sorting.

    from posexp.page import Grid, LineChart, Mark, Note, Page, Row, Section, Series, Table

    loss = LineChart(
        [
            Series("a", x=[64, 128, 256], y=[2.3, 2.2, 2.1], low=[2.2, 2.1, 2.0],
                   high=[2.4, 2.3, 2.2], faint=[([64, 128, 256], [2.31, 2.2, 2.12])]),
            Series("b", x=[64, 128, 256], y=[2.4, 2.3, None], end="n/a beyond 128"),
        ],
        x_label="context length (tokens)", y_label="bits per byte", title="Loss against length",
        x_scale="log2", x_ticks=[64, 128, 256], y_form=".3f", size="wide",
        marks=[Mark(128, "T = 128", beyond="beyond training")],
    )
    table = Table(["scheme", "loss"], [Row(["a", 2.2], key="a"), Row(["b", 2.3], key="b")])
    page = Page("A study", "two schemes", keys=["a", "b"], sections=[
        Section("loss", "Loss against length", ["The longer the better.", loss, table]),
        Section("notes", "What to know", [Note("One seed.", kind="warning")]),
    ])
    Path("page.html").write_text(page.render(), encoding="utf-8")

A section's body is text and blocks: `LineChart`, `Scatter`, `Intervals`, `HeatMap`, `Table`,
`Grid` (side by side), `Views` (one of several, by buttons), `Lead`, `Heading`, `Note`,
`Bullets`, `Facts`, `Code`, `Details`, or an object of your own with `html(looks) -> Html`. Every
str is escaped; `tag`, `code`, `strong` and `join` build `Html` for a sentence with markup in it:
join("The scheme ", code(name), " acts on ", strong("keys"), ".").

A series, point, row or estimate whose name (or `key`) is one of the page's `keys` has that name's
colour, dashes and marker, and the key's button hides it everywhere. Names that are no keys get
looks of their own and a key below their chart.

Axes are labelled at their ends, so labels are short: a quantity and its unit. Titles say what is
seen, captions how to read it. Sizes: "wide" fills the column, "half" stands in Grid(columns=2),
"small" in Grid(columns=3). Everything is there without scripts and in print.
"""

from posexp.page.block import Block, Content
from posexp.page.frame import Level, Mark
from posexp.page.heat import HeatMap
from posexp.page.html import Html, code, join, strong, tag
from posexp.page.intervals import Estimate, Intervals
from posexp.page.layout import Grid, Views
from posexp.page.lines import LineChart
from posexp.page.looks import Looks
from posexp.page.numbers import number
from posexp.page.page import Page, Section
from posexp.page.scatter import Point, Scatter
from posexp.page.series import Series
from posexp.page.table import Cell, Column, Row, Table
from posexp.page.text import Bullets, Code, Details, Facts, Heading, Lead, Note

__all__ = [
    "Block",
    "Bullets",
    "Cell",
    "Code",
    "Column",
    "Content",
    "Details",
    "Estimate",
    "Facts",
    "Grid",
    "Heading",
    "HeatMap",
    "Html",
    "Intervals",
    "Lead",
    "Level",
    "LineChart",
    "Looks",
    "Mark",
    "Note",
    "Page",
    "Point",
    "Row",
    "Scatter",
    "Section",
    "Series",
    "Table",
    "Views",
    "code",
    "join",
    "number",
    "strong",
    "tag",
]
