"""Arranging blocks: side by side, and several views of one thing of which one is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from posexp.page.block import Content, render
from posexp.page.html import Html, join, tag
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
    """Several views of which buttons choose one, such as {"linear": chart, "logarithmic": chart}.

    The first is seen at the start. Print shows the chosen one where the views are `alike` and tell
    the same; else all of them, each below its name.
    """

    views: Mapping[str, Content | Sequence[Content]]
    alike: bool = False

    def html(self, looks: Looks) -> Html:
        if len(self.views) < 2:
            return join(*(render(view, looks) for view in self.views.values()))
        names = list(self.views)
        buttons = [
            tag("button", name, type="button", aria_pressed="true" if name == names[0] else "false")
            for name in names
        ]
        panes = [
            tag(
                "div",
                None if self.alike else tag("p", name, class_="printed"),
                render(view, looks),
                class_="view" if name == names[0] else "view unseen",
            )
            for name, view in self.views.items()
        ]
        choice = tag("div", *buttons, class_="choice", role="group")
        return tag("div", choice, *panes, class_="views alike" if self.alike else "views")
