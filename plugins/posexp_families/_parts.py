"""What several families share: activations, projections, and fused queries, keys and values.

Shapes: D model width, H heads, d head width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from posexp import Weight

_GELU_TANH = ("gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_fast")

#: The library's name of an activation -> that of `model.activation`.
PLAIN = {"gelu": "gelu", "gelu_python": "gelu", "relu": "relu"} | dict.fromkeys(
    _GELU_TANH, "gelu_tanh"
)
GATED = {"silu": "swiglu", "swish": "swiglu", "gelu": "geglu", "gelu_python": "geglu"}
GATED |= dict.fromkeys(_GELU_TANH, "geglu_tanh")

#: Rows of a head in a fused projection.
QUERY, KEY, VALUE = range(3)


def activation(field: str, value: str, known: Mapping[str, str]) -> str:
    """The `model.activation` of an activation of the library's.

    Raises `ValueError` for one that posexp has not.
    """
    if value not in known:
        raise ValueError(f"{field}={value!r} is not supported; supported: {', '.join(known)}")
    return known[value]


def layer(
    target: str, source: str, *, bias: bool, make: Callable[..., Tensor] | None = None
) -> dict[str, Weight]:
    """The weight of one layer, and its bias if it has one; both are made in the same way."""
    names = ("weight", "bias") if bias else ("weight",)
    return {f"{target}.{name}": Weight(f"{source}.{name}", make) for name in names}


def part_of_heads(which: int, n_heads: int) -> Callable[[Tensor], Tensor]:
    """What takes the queries, keys or values of rows that go head by head: (H, 3, d) x D."""
    return lambda fused: fused.unflatten(0, (n_heads, 3, -1))[:, which].flatten(0, 1)


def fused(block: str, source: str, n_heads: int, *, bias: bool) -> dict[str, Weight]:
    """A block's projections from one whose rows go head by head: q, k and v of the first, ..."""
    parts = {"query": QUERY, "key": KEY, "value": VALUE}
    weights: dict[str, Weight] = {}
    for name, which in parts.items():
        make = part_of_heads(which, n_heads)
        weights |= layer(f"{block}.attention.{name}", source, bias=bias, make=make)
    return weights
