"""NoPE: no position signal at all.

With a BOS token and a causal mask the first layer can still recover absolute position, and later
layers relative position (Kazemnejad et al. 2023, "The Impact of Positional Encoding on Length
Generalization in Transformers", theorems 1 and 2).
"""

from __future__ import annotations

from dataclasses import dataclass

from posexp import PositionScheme, SchemeSpec, hookimpl


@dataclass
class NopeConfig:
    """NoPE has no parameters."""


class Nope(PositionScheme):
    """The identity of the contract: it acts on nothing."""


@hookimpl
def posexp_schemes() -> list[SchemeSpec]:
    return [SchemeSpec("nope", NopeConfig, Nope)]
