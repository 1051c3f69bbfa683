"""Running the checks: each once, and not where what it rests on has failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from posexp.dims import AttentionDims
from posexp.registry import SchemeSpec, nearest
from posexp.testing.check import CHECKS, CheckFailure, NotApplicable
from posexp.testing.subject import Subject

HELD, FAILED, NOT_APPLICABLE, NOT_RUN = "held", "failed", "not applicable", "not run"


@dataclass(frozen=True)
class Result:
    """What became of one check: `outcome` is held, failed, not applicable or not run."""

    check: str
    outcome: str
    message: str = ""
    error: Exception | None = None


class ConformanceError(AssertionError):
    """A scheme that breaks its contract. `results` has every check, `failures` the failed ones."""

    def __init__(self, name: str, results: list[Result]) -> None:
        self.results = results
        self.failures = [result for result in results if result.outcome == FAILED]
        lines = [f"{name} fails {len(self.failures)} of {len(results)} checks:"]
        lines += [f"- {result.check}: {result.message}" for result in self.failures]
        skipped = [result.check for result in results if result.outcome == NOT_RUN]
        if skipped:
            lines.append(f"not run, since they rest on those: {', '.join(skipped)}")
        super().__init__("\n".join(lines))


def check_scheme(
    scheme: str | Mapping[str, Any] | SchemeSpec,
    dims: AttentionDims | None = None,
    *,
    only: Iterable[str] | None = None,
    slow: bool = True,
) -> list[Result]:
    """Examine a scheme: a name, a config `{name: rope, theta: 100.0}`, or a `SchemeSpec`.

    `dims` are small ones by default; pass `causal=False` ones for the bidirectional form. `only`
    names the checks to run (with what they need). `slow=False` leaves out those of several seconds.

    Raises `ConformanceError` with every failure, `ValueError` for an unknown check or bad config,
    `PluginError` where there is no such scheme.
    """
    subject = Subject.of(scheme, dims)
    names = list(only) if only is not None else [n for n, c in CHECKS.items() if slow or not c.slow]
    for name in names:
        if name not in CHECKS:
            raise ValueError(f"there is no check {name!r}{nearest(name, CHECKS)}")
    known: dict[str, Result] = {}
    results = [result_of(name, subject, known) for name in names]
    if any(result.outcome == FAILED for result in known.values()):
        raise ConformanceError(subject.spec.name, list(known.values()))
    return results


def result_of(name: str, subject: Subject, known: dict[str, Result]) -> Result:
    """The result of one check, kept in `known`, after those that it needs."""
    if name not in known:
        known[name] = _run(name, subject, known)
    return known[name]


def _run(name: str, subject: Subject, known: dict[str, Result]) -> Result:
    for need in CHECKS[name].needs:
        if result_of(need, subject, known).outcome in (FAILED, NOT_RUN):
            return Result(name, NOT_RUN, f"it rests on {need}")
    try:
        CHECKS[name](subject)
    except NotApplicable as reason:
        return Result(name, NOT_APPLICABLE, str(reason))
    except CheckFailure as failure:
        return Result(name, FAILED, str(failure), failure)
    except Exception as error:
        message = f"the scheme raised {type(error).__name__}: {error}"
        return Result(name, FAILED, message, error)
    return Result(name, HELD)
