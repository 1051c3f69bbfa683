"""How a name looks in every chart of a page: colour, dashes and marker, so that grey is enough.

The colours are Okabe and Ito's for all kinds of colour vision (their yellow is too light for a
line); page.css has lighter ones for a dark page, by the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from posexp.page.html import Html, tag

COLORS, DASHES = 8, 4

# Drawn around (0, 0), of about equal area.
MARKERS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "M-3.5 -3.5h7v7h-7z",
    "M0 -4.6L4.4 3.4h-8.8z",
    "M0 -4.9L4.9 0L0 4.9L-4.9 0z",
    "M0 4.6L4.4 -3.4h-8.8z",
    "M-1.6 -4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "M-3.4 -4.6L0 -1.3L3.4 -4.6L4.6 -3.4L1.3 0L4.6 3.4L3.4 4.6L0 1.3L-3.4 4.6L-4.6 3.4L-1.3 0L-4.6 -3.4z",  # noqa: E501
    "M0 -5.4L1.5 -1.9L5.2 -1.7L2.4 .8L3.3 4.4L0 2.4L-3.3 4.4L-2.4 .8L-5.2 -1.7L-1.5 -1.9z",
)


@dataclass(frozen=True)
class Look:
    """Numbers of a colour (0 to 7), of dashes (0 to 3, 0 is solid) and of a marker (0 to 7)."""

    color: int
    dash: int
    marker: int

    @classmethod
    def number(cls, i: int) -> Look:
        """The i-th look; the first 256 differ."""
        turn = i // COLORS
        return cls(
            color=i % COLORS,
            dash=(i + turn) % DASHES,
            marker=(i + 2 * turn + turn // DASHES) % len(MARKERS),
        )

    @property
    def classes(self) -> str:
        """The CSS classes that give an element of a chart this look."""
        return f"c{self.color} d{self.dash}"


class Looks:
    """The looks of a page's key: numbered by alphabet, or as a mapping of names says."""

    def __init__(self, names: Iterable[str] | Mapping[str, int] = ()) -> None:
        self.names = list(dict.fromkeys(names))
        by_alphabet = {name: i for i, name in enumerate(sorted(self.names))}
        numbers = names if isinstance(names, Mapping) else by_alphabet
        self._looks = {name: Look.number(numbers[name]) for name in self.names}

    def get(self, name: str | None) -> Look | None:
        """The look of `name`, None where the key has no such name."""
        return None if name is None else self._looks.get(name)


def marker(look: Look, x: float, y: float) -> Html:
    """The marker of `look` at (x, y)."""
    return tag("use", href=f"#m{look.marker}", x=f"{x:.1f}", y=f"{y:.1f}")


def sample(look: Look, style: str | None = None) -> Html:
    """A short piece of line with its marker, for a key; `style` is a colour other than its own."""
    line = tag("line", x1=1, x2=31, y1=7, y2=7, class_="l")
    return tag(
        "svg", line, marker(look, 16, 7), class_=f"sample s {look.classes}", width=32, height=14,
        style=style, aria_hidden="true",
    )  # fmt: skip


def marker_shapes() -> Html:
    """The shapes that `marker` refers to, once a page."""
    shapes = [tag("path", id=f"m{i}", d=shape) for i, shape in enumerate(MARKERS)]
    return tag("svg", tag("defs", *shapes), class_="shapes", width=0, height=0, aria_hidden="true")
