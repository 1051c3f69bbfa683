"""Which kernel a layer gets: the fastest legal one, or a refusal that says why."""

from __future__ import annotations

from posexp.model.kernels.band import BandKernel
from posexp.model.kernels.by_distance import ByDistanceKernel
from posexp.model.kernels.chunked import ChunkedKernel
from posexp.model.kernels.eager import EagerKernel
from posexp.model.kernels.flex import FlexKernel
from posexp.model.kernels.folded import FoldedKernel
from posexp.model.kernels.kernel import Kernel
from posexp.model.kernels.key_side import KeySideKernel
from posexp.model.kernels.sdpa import SdpaKernel
from posexp.model.kernels.sdpa_mask import SdpaMaskKernel
from posexp.model.kernels.tiled import TiledKernel
from posexp.model.layout import Layout
from posexp.registry import nearest
from posexp.scheme import PositionScheme

#: From the fastest to the most general.
KERNELS: dict[str, Kernel] = {
    k.name: k
    for k in (
        SdpaKernel(),
        KeySideKernel(),
        FoldedKernel(),
        ChunkedKernel(),
        ByDistanceKernel(),
        BandKernel(),
        FlexKernel(),
        SdpaMaskKernel(),
        TiledKernel(),
        EagerKernel(),
    )
}


class IllegalKernelError(ValueError):
    """The kernel that was asked for cannot compute what the scheme defines."""


def legal_kernels(
    requested: str, scheme: PositionScheme, causal: bool, dropout: float
) -> list[Kernel]:
    """The kernels that may serve a layer's scheme, fastest first; `dropout` is that on weights.

    `auto` means every legal one, a name only that one. Raises `IllegalKernelError` for an unknown
    name or an illegal request.
    """
    refusals = {k.name: k.refusal(scheme, causal, dropout) for k in KERNELS.values()}
    legal = [name for name, refusal in refusals.items() if refusal is None]
    if requested == "auto":
        return [KERNELS[name] for name in legal]
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
    return [KERNELS[requested]]


def kernel_for(layout: Layout, kernels: list[Kernel]) -> Kernel:
    """The first of a layer's legal kernels that takes a pass laid out like this.

    Raises `IllegalKernelError` where one kernel was asked for and it does not.
    """
    for kernel in kernels:
        if kernel.accepts(layout):
            return kernel
    raise IllegalKernelError(
        f"model.kernel={kernels[0].name} does not serve a pass laid out like this (padding, packed "
        "documents, given positions, decoding, or this many); use kernel=auto, tiled or eager"
    )
