"""What a scheme that is meant to fail is examined with."""

import dataclasses

import pytest

from posexp import SchemeSpec
from posexp.testing import ConformanceError, check_scheme
from posexp.testing.subject import DIMS


@dataclasses.dataclass
class Settings:
    """The numbers of every scheme made for these tests."""

    theta: float = 100.0

    def __post_init__(self):
        if not self.theta > 0:
            raise ValueError(f"theta must be positive, got {self.theta}")


@pytest.fixture
def settings():
    return Settings


@pytest.fixture
def failures():
    """The failed checks of a scheme class, {name: message}; all checks but the slow ones run.

    Its config is its own attribute `settings`, where it has one.
    """

    def failures(build, only=None):
        spec = SchemeSpec("broken", getattr(build, "settings", Settings), build)
        dims = dataclasses.replace(DIMS, n_layers=2)
        try:
            check_scheme(spec, dims, only=only, slow=False)
        except ConformanceError as error:
            return {failure.check: failure.message for failure in error.failures}
        return {}

    return failures
