"""Arranging blocks: side by side, and several views of one thing of which one is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from posexp.page.block import Content, render
from posexp.page.html import Html, tag
from posexp.page.looks import Looks


@dataclass(frozen=True)
class Grid:
    """Blocks side by side, `columns` (2 to 4) of them where the window is wide enough.

    Small multiples are charts of one size and one `y_range` in a grid: size="half" for two
    columns, size="small" for three or four. A phone shows one column.
    """

    blocks: Sequence[Content]
    columns: int = 2

    def html(self, looks: Looks) -> Html:
        cells = [tag("div", render(block, looks)) for block in self.blocks]
        return tag("div", *cells, class_=f"grid columns{self.columns}")


@dataclass(frozen=True)
class Views:
    """One thing seen in several ways, such as {"linear": chart, "logarithmic": chart}.

    Buttons choose; the first is seen at the start. Print, and a page without scripts, show the
    first only, so let each view tell the same.
    """

    views: Mapping[str, Content]

    def html(self, looks: Looks) -> Html:
        names = list(self.views)
        buttons = [
            tag("button", name, type="button", aria_pressed="true" if name == names[0] else "false")
            for name in names
        ]
        panes = [
            tag("div", render(view, looks), class_="view", hidden=name != names[0])
            for name, view in self.views.items()
        ]
        choice = tag("div", *buttons, class_="choice", role="group")
        return tag("div", choice, *panes, class_="views")
