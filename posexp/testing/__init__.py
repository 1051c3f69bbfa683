"""Does a scheme keep the contract? The checks, for every author of a scheme.

From Python, with every failure in one message:

    from posexp.testing import check_scheme

    check_scheme("my_scheme")
    check_scheme({"name": "my_scheme", "theta": 100.0}, dims=AttentionDims(96, 6, 4))

In a test file, one case for each check:

    from posexp.testing import parametrize_checks

    @parametrize_checks("my_scheme")
    def test_conformance(check):
        check()

`slow=False` leaves out the checks that compile, which take seconds; `dims` are small by default.

A scheme may fail a check by its nature. It says so in its `SchemeSpec`, or in the call, which then
counts in place of the spec's:

    SchemeSpec("my_scheme", Config, MyScheme, expected_failures={"half_and_back": "it is a table"})
    check_scheme("my_scheme", expected_failures={"half_and_back": "it is a table"})

Such a check is an expected failure (in pytest, an xfail with the reason). If it holds after all,
that is a failure. What rests on it runs nevertheless, and must be declared as well where it fails.

A scheme that cannot be built from its defaults is examined with a config that can: pass it in place
of the name. `CHECKS` has every check by name; `CHECKS[name].holds` says in a sentence what it holds
a scheme to. A failure says what was measured and what is likely to be the cause.
"""

from posexp.testing import checks as checks  # fills CHECKS
from posexp.testing.check import CHECKS, Check, CheckFailure, NotApplicable
from posexp.testing.examine import ConformanceError, Result, check_scheme
from posexp.testing.parametrize import parametrize_checks
from posexp.testing.subject import Subject

__all__ = [
    "CHECKS",
    "Check",
    "CheckFailure",
    "ConformanceError",
    "NotApplicable",
    "Result",
    "Subject",
    "check_scheme",
    "parametrize_checks",
]
