"""A whole page in one file: sections, a key that all charts share, style and script inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from posexp.page.block import Content, render
from posexp.page.html import Html, tag
from posexp.page.looks import Looks, marker_shapes, sample

# Nothing is fetched, whatever a name or a log holds: the browser itself refuses.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A titled part of a page; `id` is its anchor, unique on the page and without spaces."""

    id: str
    title: str
    body: Sequence[Content] | Content


@dataclass(frozen=True)
class Page:
    """A page that opens from a file, with no request to anywhere.

    keys
        The names that charts share, in the order of the key: each gets a colour, dashes and a
        marker, the same in every chart, and a button that hides or shows it in all. Looks go by
        alphabet, or by the numbers of a mapping.
    notes
        Name -> a few words beside it in the key, such as its loss.
    shown
        How many of `keys` are on at the start; the others are one click away.
    footer
        What is said at the end, such as the version that wrote the page.

    A full example is in `posexp.page`'s docstring.
    """

    title: str
    subtitle: str
    sections: Sequence[Section]
    keys: Sequence[str] | Mapping[str, int] = field(default_factory=tuple)
    notes: Mapping[str, str] = field(default_factory=dict)
    shown: int = 12
    footer: str = ""

    def render(self) -> str:
        """The page as one HTML text, to be written as UTF-8."""
        looks = Looks(self.keys)
        off = set(looks.names[self.shown :])
        sections = [
            tag("section", tag("h2", s.title), render(s.body, looks), id=s.id)
            for s in self.sections
        ]
        links = [tag("li", tag("a", s.title, href=f"#{s.id}")) for s in self.sections]
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
            tag("meta", name="viewport", content="width=device-width,initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            # An empty icon: browsers ask for favicon.ico otherwise.
            tag("link", rel="icon", href="data:,"),
            tag("title", self.title),
            tag("style", asset("page.css")),
        )
        body = tag(
            "body",
            marker_shapes(),
            tag(
                "aside",
                tag("nav", tag("ol", *links), aria_label="contents"),
                self._key(looks, off) if looks.names else None,
            ),
            tag(
                "main",
                tag("header", tag("h1", self.title), tag("p", self.subtitle, class_="subtitle")),
                *sections,
                tag("footer", self.footer) if self.footer else None,
            ),
            tag("div", id="tip", hidden=True),
            tag("script", asset("page.js")),
        )
        return "<!doctype html>\n" + tag("html", head, body, lang="en") + "\n"

    def _key(self, looks: Looks, off: set[str]) -> Html:
        buttons = [
            tag(
                "button",
                sample(looks.get(name)),
                tag("span", name),
                tag("small", self.notes[name]) if name in self.notes else None,
                type="button", data_key=name, aria_pressed="false" if name in off else "true",
                title="click: hide or show; double-click: only this one",
            )
            for name in looks.names
        ]  # fmt: skip
        every = tag("button", "show all", type="button", class_="all")
        return tag("div", *buttons, every, id="key", role="group", aria_label="what is shown")


def asset(name: str) -> Html:
    """A style sheet or script of this package, as it stands."""
    return Html(files("posexp.page").joinpath("assets", name).read_text(encoding="utf-8"))
