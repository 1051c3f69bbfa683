"""What a page is made of: blocks, and text between them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from posexp.page.html import Html, join, tag
from posexp.page.looks import Looks


class Block(Protocol):
    """Anything that can stand in a section: charts, tables, notes, or a class of your own."""

    def html(self, looks: Looks) -> Html:
        """The block as HTML; `looks` are those of the page's key."""
        ...


Content = Block | str


def render(content: Iterable[Content] | Content, looks: Looks) -> Html:
    """Blocks in order. A plain str is a paragraph, escaped; `Html` is a paragraph as it is."""
    if isinstance(content, str) or hasattr(content, "html"):
        content = [content]  # type: ignore[list-item]
    return join(*(tag("p", c) if isinstance(c, str) else c.html(looks) for c in content))
