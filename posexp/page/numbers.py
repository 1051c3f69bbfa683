"""Numbers as a reader wants them."""

from __future__ import annotations


def number(value: float, form: str = "") -> str:
    """`value` by the format spec `form`, or with four significant digits; a real minus sign.

    From a million on with M or G: 4,096,000 is "4.096M".
    """
    if form:
        text = format(value, form)
    else:
        unit, scale = next(
            ((u, s) for u, s in (("G", 1e9), ("M", 1e6)) if abs(value) >= s), ("", 1.0)
        )
        scaled = value / scale
        text = f"{scaled:.0f}" if abs(scaled) >= 1e4 else f"{scaled:.4g}"
        text += unit
    return text.replace("-", "\N{MINUS SIGN}") if text.startswith("-") else text
