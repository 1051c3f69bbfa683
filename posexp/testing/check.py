"""A check: a named function that holds one sentence of the contract, and how it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from posexp.registry import nearest

if TYPE_CHECKING:
    from posexp.testing.subject import Subject


class CheckFailure(AssertionError):  # noqa: N818
    """What was measured, and the likely cause."""


class NotApplicable(Exception):  # noqa: N818
    """The check says nothing about this scheme or these dims; the message says why."""


@dataclass(frozen=True)
class Check:
    """One sentence of the contract. Call it with a `Subject`; it raises `CheckFailure`.

    needs
        The checks without which this one would measure the same fault a second time. Where one of
        them fails, this one is not run, so that a mistake is reported where it was made.
    slow
        Takes seconds: run only where it is asked for.
    """

    name: str
    function: Callable[[Subject], None]
    needs: tuple[str, ...]
    slow: bool

    def __call__(self, subject: Subject) -> None:
        self.function(subject)

    @property
    def holds(self) -> str:
        """What the check holds a scheme to, in a sentence."""
        return (self.function.__doc__ or "").strip().splitlines()[0]


#: Every check by its name, in the order in which they run.
CHECKS: dict[str, Check] = {}


def known_check(name: str) -> Check:
    """The check of that name. Raises `ValueError` with the nearest where there is none."""
    if name not in CHECKS:
        raise ValueError(f"there is no check {name!r}{nearest(name, CHECKS)}")
    return CHECKS[name]


def check(*, needs: tuple[str, ...] = (), slow: bool = False) -> Callable[..., Check]:
    """Add a function to CHECKS under its own name. `needs` names checks that exist already."""

    def add(function: Callable[[Subject], None]) -> Check:
        unknown = [name for name in needs if name not in CHECKS]
        if unknown or function.__name__ in CHECKS:
            raise ValueError(f"{function.__name__} exists already, or needs unknown {unknown}")
        CHECKS[function.__name__] = Check(function.__name__, function, needs, slow)
        return CHECKS[function.__name__]

    return add
