"""Training: gradients reach every parameter, also after a model was used without them."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from posexp.model import Transformer
from posexp.testing.check import check
from posexp.testing.checks.declarations import FOUNDATIONS
from posexp.testing.compare import explained, holds, same
from posexp.testing.subject import Subject


def gradients(model: Transformer, tokens: Tensor, **layout: Tensor | None) -> dict[str, Tensor]:
    """The gradient of the next-token loss for every parameter that has one."""
    real = layout.get("real")
    found = model(tokens, **layout)
    targets = tokens.roll(-1, dims=-1)
    if real is not None:
        targets = targets.masked_fill(~real, -100)
    model.zero_grad(set_to_none=True)
    F.cross_entropy(found.flatten(0, 1), targets.flatten()).backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@check(needs=FOUNDATIONS)
def every_parameter_gets_a_gradient(subject: Subject) -> None:
    """Every parameter of the scheme gets a gradient that is not all zero."""
    model = subject.model().train()
    found = gradients(model, subject.tokens(2, 24))
    for name, _ in model.named_parameters():
        holds(
            name in found,
            f"{name} gets no gradient: it takes no part in the result, or something in between "
            "cuts the graph (.data, .item(), .detach(), torch.tensor(...)). With several processes "
            "training would stop",
        )
        if name.startswith("scheme."):
            holds(
                bool(found[name].isfinite().all()),
                f"the gradient of {name} is not finite: is it multiplied with masked scores? Those "
                "are -inf, and 0 x inf is undefined; choose with torch.where before multiplying",
            )
            holds(
                bool(found[name].any()),
                f"the gradient of {name} is zero: the result does not depend on it, or a method "
                "rounds it away",
            )


@check(needs=("every_parameter_gets_a_gradient",))
def training_after_inference(subject: Subject) -> None:
    """A model that was validated under inference mode trains as a fresh one does."""
    tokens = subject.tokens(2, 12)
    used = subject.model()
    with torch.inference_mode():
        used(tokens)
    cause = (
        "Is a table kept from the first call? One made under inference mode cannot be trained on: "
        "compute it at every call."
    )
    with explained("training after a pass under inference mode", cause):
        found = gradients(used.train(), tokens)
    for name, expected in gradients(subject.model().train(), tokens).items():
        what = f"the gradient of {name} after a pass under inference mode"
        same(found[name], expected, what, cause, 1e-6)
