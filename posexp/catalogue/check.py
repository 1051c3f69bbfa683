"""The conformance kit at the command line: one line for each check, as it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from posexp.dims import AttentionDims
from posexp.registry import nearest
from posexp.testing import CHECKS, Result, Subject
from posexp.testing.examine import FAILED, NOT_RUN, result_of


def examine(
    config: Mapping[str, Any],
    dims: AttentionDims,
    *,
    only: Iterable[str] | None = None,
    slow: bool = True,
) -> int:
    """Print what became of each check of the scheme as it ends; 1 if one failed, else 0.

    `only` names the checks to run, and what they rest on runs too; `slow=False` leaves out those of
    several seconds. Raises `ValueError` for an unknown check or bad config, `PluginError` where
    there is no such scheme.
    """
    subject = Subject.of(config, dims)
    wanted = [n for n, c in CHECKS.items() if slow or not c.slow] if only is None else list(only)
    for name in wanted:
        if name not in CHECKS:
            hint = nearest(name, CHECKS) or f"; there are {', '.join(CHECKS)}"
            raise ValueError(f"there is no check {name!r}{hint}")
    names = _with_needs(wanted)
    width = max(map(len, names))
    known: dict[str, Result] = {}
    for name in names:
        if _rests_on_a_fault(name, known):
            result_of(name, subject, known)
            continue
        print(name.ljust(width), end="  ", flush=True)  # a check may take seconds
        result = result_of(name, subject, known)
        print(": ".join(filter(None, (result.outcome, result.message))), flush=True)
    waiting = [name for name, result in known.items() if result.outcome == NOT_RUN]
    if waiting:
        # One line: a fault in the first check must not be lost among all that rest on it.
        print(f"\nnot run, since they rest on what failed: {', '.join(waiting)}")
    counts = Counter(result.outcome for result in known.values())
    print(f"\n{subject.spec.name}: {', '.join(f'{n} {outcome}' for outcome, n in counts.items())}")
    return int(counts[FAILED] > 0)


def _rests_on_a_fault(name: str, known: Mapping[str, Result]) -> bool:
    return any(known[need].outcome in (FAILED, NOT_RUN) for need in CHECKS[name].needs)


def _with_needs(names: Iterable[str]) -> list[str]:
    """`names` and what they rest on, in the order of CHECKS, where a need stands first."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += CHECKS[name].needs
    return [name for name in CHECKS if name in found]
