"""Every kernel that may serve a scheme computes what the dense definition does."""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model.kernels.choice import IllegalKernelError
from posexp.testing.check import check
from posexp.testing.checks.training import gradients
from posexp.testing.compare import holds, same
from posexp.testing.subject import Subject, logits

CAUSE = (
    "A fast kernel uses what the scheme says of itself (distance_slopes, distance_bias, window, "
    "mask, saturates_at), the eager one its most general form: do the two say the same?"
)


def layouts(subject: Subject) -> dict[str, dict[str, Tensor]]:
    """What a forward pass may look like: plain, left-padded, packed."""
    real = torch.ones(2, 24, dtype=torch.bool)
    real[1, :5] = False
    documents = torch.tensor([0] * 10 + [1] * 14).repeat(2, 1)
    restarting = torch.cat((torch.arange(10), torch.arange(14))).repeat(2, 1)
    return {
        "plain": {},
        "left-padded": {"real": real},
        "packed": {"documents": documents, "positions": restarting},
    }


@check(
    needs=(
        "padding_is_invisible",
        "every_parameter_gets_a_gradient",
        "saturates_at_as_declared",
    )
)
def kernels_agree(subject: Subject) -> None:
    """Every legal kernel gives the eager kernel's logits and gradients, or refuses the layout."""
    tokens, eager = subject.tokens(2, 24), subject.model("eager")
    others = {kernel: subject.model(kernel) for kernel in subject.kernels() if kernel != "eager"}
    for name, layout in layouts(subject).items():
        expected = logits(eager, tokens, **layout)
        expected_gradients = gradients(eager, tokens, **layout)
        real = layout.get("real", torch.ones_like(tokens, dtype=torch.bool))
        for kernel, model in others.items():
            try:
                found = logits(model, tokens, **layout)
            except IllegalKernelError:
                continue
            what = f"kernel {kernel}, {name} rows"
            same(found[real], expected[real], f"the logits of {what}", CAUSE)
            agree(gradients(model, tokens, **layout), expected_gradients, what, CAUSE)


def agree(found: dict[str, Tensor], expected: dict[str, Tensor], what: str, cause: str) -> None:
    """Raise `CheckFailure` unless both have the same gradients."""
    holds(found.keys() == expected.keys(), f"{what}: other parameters get gradients. {cause}")
    for name, gradient in expected.items():
        tolerance = 1e-5 + 1e-4 * gradient.abs().max().item()
        same(found[name], gradient, f"the gradient of {name} ({what})", cause, tolerance)
