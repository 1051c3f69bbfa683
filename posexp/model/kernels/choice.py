"""Which kernel a layer gets: the fastest legal one, or a refusal that says why."""

from __future__ import annotations

from posexp.model.kernels.eager import EagerKernel
from posexp.model.kernels.kernel import Kernel
from posexp.model.kernels.key_side import KeySideKernel
from posexp.model.kernels.sdpa import SdpaKernel
from posexp.registry import nearest
from posexp.scheme import PositionScheme

#: From the fastest to the most general.
KERNELS: dict[str, Kernel] = {k.name: k for k in (SdpaKernel(), KeySideKernel(), EagerKernel())}


class IllegalKernelError(ValueError):
    """The kernel that was asked for cannot compute what the scheme defines."""


def choose_kernel(requested: str, scheme: PositionScheme, causal: bool, dropout: float) -> Kernel:
    """The kernel for a layer's scheme; `dropout` is that on attention weights.

    `auto` is the first of KERNELS that is legal. Raises `IllegalKernelError` for an unknown name or
    an illegal request.
    """
    refusals = {k.name: k.refusal(scheme, causal, dropout) for k in KERNELS.values()}
    legal = [name for name, refusal in refusals.items() if refusal is None]
    if requested == "auto":
        return KERNELS[legal[0]]
    if requested not in KERNELS:
        raise IllegalKernelError(
            f"model.kernel={requested} is unknown{nearest(requested, KERNELS)}; "
            f"valid: auto, {', '.join(KERNELS)}"
        )
    if requested not in legal:
        raise IllegalKernelError(
            f"model.kernel={requested} cannot serve {type(scheme).__name__}: "
            f"{refusals[requested]}; use {' or '.join(legal)}"
        )
    return KERNELS[requested]


def kernel_for_layout(chosen: Kernel, layout: object, requested: str) -> Kernel:
    """`chosen`, or with `auto` the dense definition where this pass's layout needs it."""
    if chosen.accepts(layout):
        return chosen
    if requested == "auto":
        return KERNELS["eager"]
    raise IllegalKernelError(
        f"model.kernel={requested} serves one unpadded document in order; this pass has padding, "
        "packed documents or other positions; use kernel=auto or eager"
    )
