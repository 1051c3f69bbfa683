"""Blocks of words: notes and warnings, lists, facts, code to copy, and what can be unfolded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from posexp.page.block import Content, render
from posexp.page.html import Html, tag
from posexp.page.looks import Looks

WORDS = {"note": "Note", "warning": "Warning", "error": "Error", "good": "Checked"}


@dataclass(frozen=True)
class Note:
    """A remark set apart, with the word of its kind in front: it does not rest on colour."""

    text: str
    kind: Literal["note", "warning", "error", "good"] = "note"

    def html(self, looks: Looks) -> Html:
        return tag(
            "div", tag("strong", WORDS[self.kind]), " ", self.text, class_=f"note {self.kind}"
        )


@dataclass(frozen=True)
class Lead:
    """The sentence to remember, a little larger than the others."""

    text: str

    def html(self, looks: Looks) -> Html:
        return tag("p", self.text, class_="lead")


@dataclass(frozen=True)
class Heading:
    """A title within a section."""

    text: str

    def html(self, looks: Looks) -> Html:
        return tag("h3", self.text)


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]

    def html(self, looks: Looks) -> Html:
        return tag("ul", *(tag("li", item) for item in self.items))


@dataclass(frozen=True)
class Facts:
    """Pairs of a term and what it is, in two columns."""

    pairs: Iterable[tuple[str, str]]

    def html(self, looks: Looks) -> Html:
        rows = [tag("div", tag("dt", term), tag("dd", value)) for term, value in self.pairs]
        return tag("dl", *rows, class_="facts")


@dataclass(frozen=True)
class Code:
    """Lines for a terminal or a file, with a button that copies them."""

    text: str
    label: str = ""

    def html(self, looks: Looks) -> Html:
        button = tag("button", "copy", type="button", class_="copy", hidden=True)
        label = tag("span", self.label, class_="label") if self.label else None
        return tag("div", label, button, tag("pre", tag("code", self.text)), class_="code")


@dataclass(frozen=True)
class Details:
    """Content that is folded on a screen and open in print."""

    summary: str
    body: Sequence[Content] | Content
    open: bool = False

    def html(self, looks: Looks) -> Html:
        return tag(
            "details", tag("summary", self.summary), render(self.body, looks), open=self.open
        )
