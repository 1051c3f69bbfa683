"""Times and sizes in their natural unit."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """`48 s`, `12 min`, `3.4 h` or `2.1 d`."""
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            shown = seconds / unit
            return f"{shown:.0f} {name}" if shown >= 10 else f"{shown:.1f} {name}"
    return f"{seconds / 86400:.1f} d"


def size(count: float) -> str:
    """`12 MB` or `3.4 GB`."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(1, count / 1e6):.0f} MB"
