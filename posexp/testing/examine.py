"""Running the checks: each once, and not where what it rests on has failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from posexp.dims import AttentionDims
from posexp.registry import SchemeSpec
from posexp.testing.check import CHECKS, CheckFailure, NotApplicable, known_check
from posexp.testing.compare import in_a_line
from posexp.testing.subject import Subject

HELD, FAILED, EXPECTED_FAILURE, NOT_APPLICABLE, NOT_RUN = (
    "held",
    "failed",
    "expected failure",
    "not applicable",
    "not run",
)


@dataclass(frozen=True)
class Result:
    """What became of one check.

    `outcome` is held, failed, expected failure, not applicable or not run. The message of an
    expected failure is its declared reason, and `error` is what was measured.
    """

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
    expected_failures: Mapping[str, str] | None = None,
) -> list[Result]:
    """Examine a scheme: a name, a config `{name: rope, theta: 100.0}`, or a `SchemeSpec`.

    `dims` are small ones by default; pass `causal=False` ones for the bidirectional form. `only`
    names the checks to run (with what they need). `slow=False` leaves out those of several seconds.
    `expected_failures` (check: reason) stand in place of those that the `SchemeSpec` declares.

    Raises `ConformanceError` with every failure, `ValueError` for an unknown check or bad config,
    `PluginError` where there is no such scheme.
    """
    subject = Subject.of(scheme, dims, expected_failures)
    names = list(only) if only is not None else [n for n, c in CHECKS.items() if slow or not c.slow]
    for name in names:
        known_check(name)
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
    needs = [result_of(need, subject, known) for need in CHECKS[name].needs]
    for need in needs:
        # One that is declared to fail and holds is a failure without an error.
        if need.outcome == NOT_RUN or (need.outcome == FAILED and need.error is not None):
            return Result(name, NOT_RUN, f"it rests on {need.check}")
    reason = subject.expected_failures.get(name)
    try:
        CHECKS[name](subject)
    except NotApplicable as why:
        return Result(name, NOT_APPLICABLE, str(why))
    except CheckFailure as failure:
        message, error = str(failure), failure
    except Exception as exception:
        message, error = f"the scheme raised {in_a_line(exception)}", exception
    else:
        if reason is None:
            return Result(name, HELD)
        return Result(name, FAILED, f"declared to fail ({reason}), but holds: remove it")
    if reason is not None:
        return Result(name, EXPECTED_FAILURE, reason, error)
    if excused := [need.check for need in needs if need.outcome == EXPECTED_FAILURE]:
        message += (
            f" (It rests on {' and '.join(excused)}, which is expected to fail: if this is the "
            "same fault, declare it as well.)"
        )
    return Result(name, FAILED, message, error)
