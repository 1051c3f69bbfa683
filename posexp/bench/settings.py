"""What a bench measures, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from posexp.registry import nearest

PARTS = ("attention", "step", "memory", "decode")
PRECISIONS = ("float32", "bf16")
DEVICES = ("cpu", "cuda")
#: Stands for every registered scheme.
ALL = "all"


@dataclass(frozen=True)
class Settings:
    """Lengths in tokens, `budget` in seconds for each cell of a table, `tokens` in each call.

    Raises `ValueError` for values that cannot be measured, naming the valid ones.
    """

    schemes: tuple[str, ...] = (ALL,)
    parts: tuple[str, ...] = PARTS
    precisions: tuple[str, ...] = PRECISIONS
    lengths: tuple[int, ...] = (512, 2048)
    attention_lengths: tuple[int, ...] = (512, 2048, 4096)
    memory_lengths: tuple[int, ...] = (4096, 8192)
    decode_lengths: tuple[int, ...] = (512, 2048)
    peer_lengths: tuple[int, ...] = (256, 512, 1024)
    peers: bool = False
    rounds: int = 15
    budget: float = 4.0
    tokens: int = 4096
    layers: int = 4
    width: int = 256
    heads: int = 4
    device: str = "cpu"
    threads: int | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        for name, valid in (("parts", PARTS), ("precisions", PRECISIONS)):
            for value in getattr(self, name):
                _check_choice(name, value, valid)
        _check_choice("device", self.device, DEVICES)
        for name in ("rounds", "tokens", "layers", "width", "heads", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"--{name} must be at least 1, got {value}")
        if not self.budget > 0:
            raise ValueError(f"--budget must be above 0 seconds, got {self.budget}")
        for name in ("lengths", "attention_lengths", "memory_lengths", "decode_lengths"):
            self._check_lengths(name)
        self._check_lengths("peer_lengths")
        if not self.schemes:
            raise ValueError(f"--schemes is empty; give {ALL}, or names separated by commas")

    def batch(self, length: int) -> int:
        """Rows of `length` that hold `tokens` tokens, at least one."""
        return max(1, self.tokens // length)

    def _check_lengths(self, name: str) -> None:
        lengths = getattr(self, name)
        if not lengths or any(length < 2 for length in lengths):
            flag = name.replace("_", "-")
            raise ValueError(f"--{flag} must be lengths of at least 2 tokens, got {lengths}")


def _check_choice(name: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise ValueError(
            f"--{name} {value} is unknown{nearest(value, valid)}; valid: {', '.join(valid)}"
        )
