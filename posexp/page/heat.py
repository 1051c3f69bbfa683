"""Heat maps: a matrix as one small picture whose values a pointer reads."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posexp.page.axis import Axis
from posexp.page.frame import Frame, Size, figure
from posexp.page.html import Html, join, tag
from posexp.page.looks import Looks
from posexp.page.numbers import number

COLORS = 255
# Of about the same lightness as neither page's ground: the colours stand on light and on dark.
BLUE, ORANGE = (31, 111, 178), (217, 95, 20)
MOST_TICKS = 6
MISSING = 65535  # of the values that a pointer reads; all others are shares of the range


@dataclass(frozen=True)
class HeatMap:
    """`values` is (rows, columns); row 0 is at the top. NaN and masked cells are hatched grey.

    diverging
        Two colours that meet at 0 over a range symmetric about it; else one colour from the least
        to the greatest value.
    limits
        (least, greatest) of the colours, so that small multiples can share them.
    x, y
        The numbers that columns and rows stand for (0, 1, 2, ... by default), ascending.

    Give at most about 128 x 128 cells: a cell costs 3 bytes of the page. Values that a pointer
    reads are exact to 1/65,000 of the range. Raises `ValueError` for anything but a matrix.
    """

    values: Sequence[Sequence[float]] | np.ndarray
    x_label: str
    y_label: str
    title: str = ""
    caption: str = ""
    diverging: bool = False
    limits: tuple[float, float] | None = None
    x: Sequence[float] | None = None
    y: Sequence[float] | None = None
    form: str = ""
    size: Size = "half"

    def html(self, looks: Looks) -> Html:
        values = np.ma.filled(np.ma.asarray(self.values, dtype=np.float64), np.nan)
        if values.ndim != 2 or not values.size:
            raise ValueError(f"a heat map needs a matrix, this has the shape {values.shape}")
        low, high = self._limits(values)
        share = (values - low) / (high - low or 1.0)
        known = np.isfinite(share)
        levels = np.clip(np.nan_to_num(share), 0, 1)
        rows, columns = values.shape
        side = {"wide": 420, "half": 300, "small": 200}[self.size]
        x = _axis(self.x_label, -0.5, columns - 0.5, self.x, columns)
        # Rows are counted downwards, an axis upwards.
        y = _axis(self.y_label, rows - 0.5, -0.5, self.y, rows)
        frame = Frame(x, y, self.size, height=side + 20)
        left, top, right, bottom = frame.box
        box = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        picture = tag(
            "image", class_="heat", preserveAspectRatio="none", **box,
            href=png(np.where(known, 1 + np.round(levels * (COLORS - 1)), 0), self.diverging),
        )  # fmt: skip
        read = np.where(known, np.round(levels * (MISSING - 1)), MISSING).astype("<u2")
        data = tag(
            "g", picture, class_="matrix", data_rows=rows, data_columns=columns, data_low=repr(low),
            data_high=repr(high), data_xs=_numbers(self.x), data_ys=_numbers(self.y),
            data_values=base64.b64encode(read.tobytes()).decode(),
        )  # fmt: skip
        drawing = frame.svg(
            tag("rect", class_="missing", **box), data, frame.axes(grid=False),
            label=f"{self.title}: {self.y_label} by {self.x_label}",
        )  # fmt: skip
        ramp = tag("span", class_="ramp diverging" if self.diverging else "ramp")
        scale = tag("div", number(low, self.form), ramp, number(high, self.form), class_="scale")
        return figure(drawing, self.title, self.caption, self.size, scale)

    def _limits(self, values: np.ndarray) -> tuple[float, float]:
        if self.limits:
            return float(self.limits[0]), float(self.limits[1])
        finite = values[np.isfinite(values)]
        if not finite.size:
            return 0.0, 1.0
        if self.diverging:
            most = float(np.abs(finite).max()) or 1.0
            return -most, most
        return float(finite.min()), float(finite.max())


def _axis(label: str, low: float, high: float, values: Sequence[float] | None, count: int) -> Axis:
    """One tick at every so many cells, named by what the cell stands for."""
    step = next(
        s * 10**k for k in range(9) for s in (1, 2, 4, 8) if count / (s * 10**k) <= MOST_TICKS
    )
    if values is not None and len(values) != count:
        raise ValueError(f"{count} cells along {label!r}, but {len(values)} numbers for them")
    at = range(0, count, step)
    names = {i: number(values[i] if values is not None else i) for i in at}
    return Axis(label, low, high, list(at), names=names)


def _numbers(values: Sequence[float] | None) -> str | None:
    return None if values is None else join(*(number(v) for v in values), by="|")


def png(indices: np.ndarray, diverging: bool) -> str:
    """A data URI of a picture, a pixel a cell: 0 is transparent, 1 to 255 are least to greatest.

    Weak values fade into the page, so one picture serves a light and a dark one.
    """
    strength = np.linspace(-1, 1, COLORS) if diverging else np.linspace(0, 1, COLORS)
    colors = np.where(strength[:, None] < 0, BLUE, ORANGE if diverging else BLUE)
    alphas = np.round(np.abs(strength) * 255)
    rows, columns = indices.shape
    # Each line of pixels begins with the number of its filter: 0, none.
    pixels = np.pad(indices.astype(np.uint8), ((0, 0), (1, 0)))
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(3) + colors.astype(np.uint8).tobytes()),
        (b"tRNS", bytes(1) + alphas.astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(pixels.tobytes(), 9)),
        (b"IEND", b""),
    ]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
    return "data:image/png;base64," + base64.b64encode(content).decode()
