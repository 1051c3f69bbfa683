"""Devices: tables that are never made on the wrong one, or left unmade."""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model.kernels.choice import KERNELS, IllegalKernelError
from posexp.model.layout import Layout
from posexp.testing.attention import random_heads
from posexp.testing.check import check
from posexp.testing.checks.declarations import FOUNDATIONS
from posexp.testing.compare import explained, holds, same
from posexp.testing.outcomes import outcomes
from posexp.testing.subject import Subject, logits


@check(needs=FOUNDATIONS)
def no_device_slips(subject: Subject) -> None:
    """A model on the CPU works where the default device is another: here it is meta."""
    tokens = subject.tokens(2, 12)
    cause = (
        "Is a tensor made without a device (torch.arange, torch.tensor, torch.zeros)? Give it "
        "device=positions.device. On a GPU this would fail."
    )
    for kernel in subject.kernels():
        model = subject.model(kernel)
        try:
            expected = logits(model, tokens)
        except IllegalKernelError:
            continue  # this kernel was asked for by name and says that it cannot
        with explained("a forward pass under another default device", cause), torch.device("meta"):
            found = logits(model, tokens)
        holds(found.device == tokens.device, f"the logits are on {found.device}. {cause}")
        same(found, expected, "the logits under another default device", cause, 0.0)


@check(needs=("no_device_slips",))
def reads_no_values(subject: Subject) -> None:
    """A forward pass reads no value of a tensor: it runs on the meta device, where none exist."""
    cause = (
        "Does a method read a value of a tensor (.item(), float(x), if on a tensor, "
        "int(positions.max()))? A GPU stops for each, and compilation breaks off. To refuse a "
        "position, let the table raise IndexError and turn that into ValueError."
    )
    dims, scheme = subject.dims, subject.scheme().to("meta")
    heads = [head.to("meta") for head in random_heads(dims, 2, 12)]
    with torch.no_grad(), explained("a pass on the meta device", cause), torch.device("meta"):
        for real in (None, torch.ones(2, 12, dtype=torch.bool)):
            layout = Layout.of_tokens(torch.ones(2, 12), causal=dims.causal, real=real)
            scheme.remap_positions(layout.q_positions)
            outcomes(scheme, dims, layout.q_positions)
            for part in {scheme.for_layer(layer) for layer in range(dims.n_layers)}:
                for kernel in KERNELS.values():
                    if kernel.refusal(part, dims.causal, 0.0) is None and kernel.accepts(layout):
                        kernel.attend(*heads, kernel.prepare(part, layout), 0.0)


@check(needs=("state_dict_round_trips",))
def meta_device_build(subject: Subject) -> None:
    """Built on the meta device, moved with .to_empty() and loaded, it equals the normal build."""
    tokens, reference = subject.tokens(2, 12), subject.model()
    with explained("building on the meta device", "Read no value of a tensor in __init__."):
        with torch.device("meta"):
            model = subject.bare_model()

        def garbage(tensor: Tensor) -> Tensor:  # what to_empty() may leave, at its worst
            fill = float("nan") if tensor.dtype.is_floating_point else 1
            return torch.full(tensor.shape, fill, dtype=tensor.dtype, device="cpu")

        model._apply(garbage).load_state_dict(reference.state_dict())
    missing = sorted(
        name
        for name, _ in model.scheme.named_buffers()
        if f"scheme.{name}" not in reference.state_dict()
    )
    what = "the logits after a build on the meta device"
    cause = (
        f"The buffers {missing} are in no checkpoint, and nothing computed them again: compute "
        "them where they are used, or register them as persistent."
    )
    same(logits(model.eval(), tokens), logits(reference, tokens), what, cause, 1e-6)
