"""The checks as pytest cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from posexp.dims import AttentionDims
from posexp.registry import SchemeSpec
from posexp.testing.check import CHECKS
from posexp.testing.examine import EXPECTED_FAILURE, FAILED, HELD, Result, result_of
from posexp.testing.subject import Subject

Examined = str | Mapping[str, Any] | SchemeSpec


def parametrize_checks(
    *schemes: Examined,
    dims: AttentionDims | None = None,
    slow: bool = True,
    expected_failures: Mapping[str, str] | None = None,
) -> Callable[..., Any]:
    """Run a test once for each check of each scheme; the test calls its argument `check`.

        @parametrize_checks("my_scheme", {"name": "my_scheme", "theta": 100.0})
        def test_conformance(check):
            check()

    A check that does not apply, or that rests on one that failed, is skipped with its reason. An
    expected failure is an xfail with its reason, and a failure once it holds. `slow=False` leaves
    out the checks that take several seconds.
    """
    import pytest  # the rest of the package works without it

    cases = []
    for number, scheme in enumerate(schemes):
        subject = Subject.of(scheme, dims, expected_failures)
        known: dict[str, Result] = {}  # the checks of a scheme share what was found
        label = subject.spec.name if len(schemes) == 1 else f"{subject.spec.name}{number}"
        cases += [
            pytest.param(_case(name, subject, known), id=f"{label}-{name}")
            for name, check in CHECKS.items()
            if slow or not check.slow
        ]
    return pytest.mark.parametrize("check", cases)


def _case(name: str, subject: Subject, known: dict[str, Result]) -> Callable[[], None]:
    def run() -> None:
        import pytest

        result = result_of(name, subject, known)
        if result.outcome == FAILED:
            raise AssertionError(result.message) from result.error
        if result.outcome == EXPECTED_FAILURE:
            pytest.xfail(result.message)
        if result.outcome != HELD:
            pytest.skip(result.message)

    return run
