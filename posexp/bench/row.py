"""One cell of a bench's tables, as results.json keeps it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from posexp.bench.timing import Spread


@dataclass(frozen=True)
class Row:
    """What was measured of `label` at one point, or the error that came instead.

    `seconds` are a call's, `baseline_seconds` those of NoPE in the same rounds, and `ratio` their
    ratios round by round. `peer_ratio` is the peer's over ours, again by round.
    """

    part: str
    label: str
    precision: str
    length: int
    batch: int | None = None
    kernel: str | None = None
    ratio: Spread | None = None
    seconds: Spread | None = None
    baseline_seconds: Spread | None = None
    tokens_per_second: float | None = None
    share_of_peak: float | None = None
    bytes: int | None = None
    ours: str | None = None
    ours_ratio: Spread | None = None
    peer_ratio: Spread | None = None
    error: str | None = None

    def plain(self) -> dict[str, Any]:
        """A mapping without the fields that this part does not have."""
        return {k: v for k, v in dataclasses.asdict(self).items() if v is not None}


def one_line(error: BaseException) -> str:
    """An error's kind and its first line."""
    lines = str(error).strip().splitlines() or ["no message"]
    return f"{type(error).__name__}: {lines[0]}"
