"""Lists of names in sentences."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 4  # names in a list; one more may end it


def listed(names: Sequence[str]) -> str:
    """Such as `rope, alibi and t5`; long lists end in `and 5 others`."""
    if len(names) > NAMED + 1:
        return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def are(names: Sequence[str]) -> str:
    """The verb for `names`."""
    return "is" if len(names) == 1 else "are"


def s(names: Sequence[str]) -> str:
    """What a verb ends in after `names`."""
    return "s" if len(names) == 1 else ""
