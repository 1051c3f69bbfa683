"""A bench small enough to run in a second."""

import pytest

from posexp.bench.settings import Settings

TINY = {
    "schemes": ("t5", "nope span=3"),
    "parts": ("attention", "step"),
    "precisions": ("float32",),
    "lengths": (8,),
    "attention_lengths": (8,),
    "memory_lengths": (64, 128),
    "decode_lengths": (6,),
    "peer_lengths": (8,),
    "rounds": 3,
    "budget": 0.01,
    "tokens": 16,
    "layers": 2,
    "width": 16,
    "heads": 2,
    "threads": 1,
}


@pytest.fixture
def tiny():
    """`tiny(parts=("memory",))`."""
    return lambda **changes: Settings(**{**TINY, **changes})
