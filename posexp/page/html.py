"""HTML that is safe by construction: text is escaped unless it already is `Html`.

tag("p", "a scheme named <b>", class_="note")   # <p class="note">a scheme named &lt;b&gt;</p>
"""

from __future__ import annotations

import html
from typing import Any

VOID = frozenset({"meta", "link", "br"})


class Html(str):
    """Markup that is ready to be written out; only `tag`, `join` and package files make it."""

    __slots__ = ()


def escape(value: Any) -> Html:
    """`value` as text in HTML: markup in it is harmless. `Html` stays what it is."""
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def join(*parts: Any, by: str = "") -> Html:
    """Parts one after another, text escaped; None is left out."""
    return Html(escape(by).join(escape(part) for part in parts if part is not None))


def tag(element: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. `class_="x"` is class, `data_key` is data-key; None and False are left out."""
    written = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if element in VOID:
        return Html(f"<{element}{written}>")
    return Html(f"<{element}{written}>{join(*children)}</{element}>")


def code(text: Any) -> Html:
    """`text` in a typewriter face, within a sentence."""
    return tag("code", text)


def strong(text: Any) -> Html:
    """`text` emphasised, within a sentence."""
    return tag("strong", text)


def _attribute(key: str) -> str:
    # SVG writes viewBox and stroke-width, Python neither hyphens nor the word class.
    return key.rstrip("_").replace("_", "-")
