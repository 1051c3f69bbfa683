"""The command `posexp train` as it was given."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Command:
    """What to train, and how to begin with it."""

    overrides: list[str]
    plan: bool = False
    ignore_disk: bool = False

    @property
    def words(self) -> list[str]:
        """What a user types for a sweep."""
        return ["posexp", "train", "-m", *self.overrides]
