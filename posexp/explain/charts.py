"""Pictures as blocks of the page: small multiples on shared scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from posexp.catalogue.gallery import SCATTERED
from posexp.catalogue.measure import VISIBLE, Panel
from posexp.explain.pictures import Curve, Motif, Picture
from posexp.explain.study import Kind, Study
from posexp.page import Block, HeatMap, Html, Level, LineChart, Looks, Mark, Series, tag

#: Room above and below what is shared by all charts of a row, as a share.
ROOM = 0.05
#: The room above, in ROOM, where the name of a mark stands.
MARK = 3
#: How much larger the shared range may be than that of one chart before it can be seen on its own.
FLAT = 4


@dataclass(frozen=True)
class Drawn:
    """A picture of one kind of layer of a scheme, under its title."""

    study: Study
    kind: Kind
    title: str
    picture: Picture

    @property
    def caption(self) -> str:
        """What is seen, and of which parameters where training does not start with them."""
        seen = any(panel.title == VISIBLE for panel in self.picture.panels)
        if self.study.note != SCATTERED or seen:
            return self.picture.sentence
        return f"{self.picture.sentence} (With {SCATTERED}.)"


@dataclass(frozen=True)
class Multiples:
    """Blocks side by side; one that is about a scheme alone is hidden and shown by its key."""

    blocks: Sequence[tuple[str | None, Block]]

    def html(self, looks: Looks) -> Html:
        columns = 2 if len(self.blocks) in (1, 2, 4) else 3
        cells = [tag("div", block.html(looks), data_key=label) for label, block in self.blocks]
        return tag("div", *cells, class_=f"grid columns{columns}")


def size_of(count: int) -> str:
    """The size of one of `count` charts in `Multiples`."""
    return "half" if count in (1, 2, 4) else "small"


def chart(motif: Motif, drawn: Drawn, ranges: Ranges, size: str) -> LineChart:
    """Curves over given ranges, with the trained length marked."""
    curves, trained = drawn.picture.curves, drawn.study.trained_length
    single = len(curves) == 1
    series = [
        Series(
            curve.name,
            curve.x.tolist(),
            numbers(curve.y),
            None if curve.low is None else numbers(curve.low),
            None if curve.high is None else numbers(curve.high),
            key=drawn.study.label if single else None,
            shade=None if single or motif.named else (i + 1) / len(curves),
            points=motif.logarithmic or not single,
        )
        for i, curve in enumerate(curves)
    ]
    # Ranks are whole numbers.
    step = max(1, round(ranges.x[1] / 6))
    ticks = list(range(0, int(ranges.x[1]) + 1, step)) if motif.logarithmic else None
    level = [Level(trained, f"T = {trained:,}")] if motif.logarithmic else []
    mark = [] if motif.logarithmic else [Mark(trained, f"T = {trained:,}", beyond="beyond")]
    return LineChart(
        series, motif.x_label, motif.y_label, title=drawn.title, caption=drawn.caption,
        y_scale="log10" if motif.logarithmic else "linear", x_range=ranges.x, y_range=ranges.y,
        x_ticks=ticks, marks=mark, levels=level, size=size, labels=False,
    )  # fmt: skip


@dataclass(frozen=True)
class Ranges:
    """What the charts of one row share."""

    x: tuple[float, float]
    y: tuple[float, float]

    @classmethod
    def of(cls, curves: Iterable[Curve], logarithmic: bool, level: float) -> Ranges:
        """All that is drawn, with a little room; on a logarithmic scale `level` as well."""
        curves = list(curves)
        x = np.concatenate([c.x for c in curves])
        drawn = [v for c in curves for v in (c.y, c.low, c.high) if v is not None]
        y = np.concatenate([*drawn, [level]] if logarithmic else drawn)
        y = np.log(y) if logarithmic else y
        low, high = np.nanmin(y), np.nanmax(y)
        room = ROOM * (high - low) or 0.5 * max(1.0, abs(high))
        # The name of the mark stands above the curves.
        low, high = low - room, high + (room if logarithmic else MARK * room)
        if logarithmic:
            low, high = np.exp(low), np.exp(high)
        wide = ROOM / 2 * (x.max() - x.min()) or 0.5
        return cls((float(x.min() - wide), float(x.max() + wide)), (float(low), float(high)))

    @property
    def height(self) -> float:
        """Of the y axis."""
        return self.y[1] - self.y[0]


def matrices(drawn: Sequence[Drawn]) -> Multiples:
    """The panels of pictures; what several schemes have alike is drawn once."""
    alike: list[list[Drawn]] = []
    for one in drawn:
        for group in alike:
            if _same(one.picture, group[0].picture):
                group.append(one)
                break
        else:
            alike.append([one])
    shared = limits(panel for one in drawn for panel in one.picture.panels)
    size = size_of(sum(len(group[0].picture.panels) for group in alike))
    blocks = []
    for group in alike:
        label = group[0].study.label if len(group) == 1 else None
        title = " and ".join(one.title for one in group)
        blocks += [(label, block) for block in _heat_maps(group[0], title, shared, size)]
    return Multiples(blocks)


def _same(one: Picture, other: Picture) -> bool:
    pairs = zip(one.panels, other.panels, strict=False)
    return len(one.panels) == len(other.panels) and all(a.equals(b) for a, b in pairs)


def _heat_maps(
    drawn: Drawn, title: str, shared: dict[str, tuple[float, float]], size: str
) -> list[HeatMap]:
    """The panels of a picture; `shared` has the limits of equal titles in the row."""
    panels = drawn.picture.panels
    return [
        HeatMap(
            panel.values.numpy(),
            panel.columns,
            panel.rows,
            title=title if panel.title == VISIBLE else f"{title}: {panel.title}",
            caption=drawn.caption if panel is panels[-1] else "",
            diverging=panel.title != VISIBLE and shared[panel.title][0] < 0,
            limits=shared[panel.title],
            x=panel.column_ticks.tolist(),
            y=panel.row_ticks.tolist(),
            size=size,
        )
        for panel in panels
    ]


def limits(panels: Iterable[Panel]) -> dict[str, tuple[float, float]]:
    """Title -> the range of all panels with it, symmetric about 0 where it has both signs."""
    found: dict[str, tuple[float, float]] = {}
    for panel in panels:
        low, high = panel.range
        before = found.get(panel.title, (low, high))
        found[panel.title] = min(low, before[0]), max(high, before[1])
    for title, (low, high) in found.items():
        if title == VISIBLE:
            found[title] = (0.0, 1.0)
        elif low < 0:
            most = max(-low, high)
            found[title] = (-most, most)
    return found


def numbers(values: np.ndarray) -> list[float | None]:
    """Values of a series: None where there is nothing."""
    return [float(v) if np.isfinite(v) else None for v in values]
