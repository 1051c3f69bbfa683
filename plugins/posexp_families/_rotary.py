"""The library's rotary settings as schemes.

| rope_type | scheme                                                                |
|-----------|-----------------------------------------------------------------------|
| default   | `rope`                                                                |
| linear    | `position_interpolation`                                              |
| dynamic   | `dynamic_ntk` with its code's factor                                  |
| yarn      | `yarn` as its code has it                                             |
| llama3    | `yarn` as its paper has it, with other constants: the same equation   |

They stand in config.json as `rope_parameters`, or as they did before, in `rope_scaling` and beside
it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

#: What each type reads beside the base and the part that turns.
READ: dict[str, frozenset[str]] = {
    "default": frozenset(),
    "linear": frozenset({"factor"}),
    "dynamic": frozenset({"factor"}),
    "yarn": frozenset(
        {"factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"}
        | {"truncate"}
    ),
    "llama3": frozenset({"factor", "low_freq_factor", "high_freq_factor"}),
}
#: What files have and no type reads, or only some do.
IGNORED = frozenset({"original_max_position_embeddings", "finetuned"})


def rotary(given: Mapping[str, Any], longest: int, layout: str) -> dict[str, Any]:
    """The scheme of one set of rotary settings; `longest` is `max_position_embeddings`.

    `given` has `rope_theta`, and `partial_rotary_factor` where not the whole head turns. Raises
    `ValueError` for a type that posexp has not, and for settings that no scheme can follow.
    """
    given = {key: value for key, value in given.items() if value is not None}
    kind = given.pop("rope_type", given.pop("type", "default"))
    given.pop("type", None)
    if kind not in READ:
        raise ValueError(f"rope_type={kind!r} is not supported; supported: {', '.join(READ)}")
    common = {
        "theta": float(given.pop("rope_theta")),
        "layout": layout,
        "fraction": float(given.pop("partial_rotary_factor", 1.0)),
    }
    if unread := sorted(given.keys() - READ[kind] - IGNORED):
        raise ValueError(
            f"rope_type={kind!r} has settings that posexp does not know: {', '.join(unread)}"
        )
    if kind == "default":
        return {"name": "rope", **common}
    original = given.get("original_max_position_embeddings", longest)
    if kind == "yarn":
        return {"name": "yarn", **common, **_yarn(given, longest, original)}
    if missing := sorted(READ[kind] - given.keys()):
        raise ValueError(f"rope_type={kind!r} lacks {', '.join(missing)}")
    factor = float(given["factor"])
    if kind == "linear":
        return {"name": "position_interpolation", **common, "factor": factor}
    if kind == "dynamic":
        return {"name": "dynamic_ntk", **common, "factor": factor, "trained_length": longest}
    return {
        "name": "yarn",
        **common,
        "factor": factor,
        "trained_length": original,
        "convention": "paper",
        "beta_slow": float(given["low_freq_factor"]),
        "beta_fast": float(given["high_freq_factor"]),
        "attention_factor": 1.0,
    }


def _yarn(given: Mapping[str, Any], longest: int, original: int) -> dict[str, Any]:
    if not given.get("truncate", True):
        raise ValueError("rope_type='yarn' with truncate=false is not supported: its ramp is not")
    factor = float(given.get("factor", longest / original))
    attention_factor = given.get("attention_factor")
    if attention_factor is None and given.get("mscale") and given.get("mscale_all_dim"):
        above, below = (0.1 * given[m] * math.log(factor) + 1 for m in ("mscale", "mscale_all_dim"))
        attention_factor = above / below
    return {
        "factor": factor,
        "trained_length": original,
        "convention": "code",
        "beta_fast": float(given.get("beta_fast") or 32),
        "beta_slow": float(given.get("beta_slow") or 1),
        "attention_factor": None if attention_factor is None else float(attention_factor),
    }
