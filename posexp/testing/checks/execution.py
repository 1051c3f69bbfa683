"""Other ways to run the same model: activation checkpointing and compilation."""

from __future__ import annotations

from functools import partial

import torch
from torch.utils.checkpoint import checkpoint

from posexp.testing.check import check
from posexp.testing.checks.kernels import agree
from posexp.testing.checks.training import gradients
from posexp.testing.compare import explained, same
from posexp.testing.subject import Subject, logits


@check(needs=("kernels_agree",))
def checkpointing_agrees(subject: Subject) -> None:
    """Activation checkpointing, which runs blocks a second time, gives the same gradients."""
    tokens = subject.tokens(2, 12)
    model = subject.model().train()
    for block in model.blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
    cause = (
        "The backward pass runs each block's methods again, last block first: is something counted "
        "or remembered between calls? for_layer(i) says which layer is meant."
    )
    with explained("training with activation checkpointing", cause):
        found = gradients(model, tokens)
    agree(found, gradients(subject.model().train(), tokens), "activation checkpointing", cause)


@check(needs=("kernels_agree",), slow=True)
def compile_agrees(subject: Subject) -> None:
    """torch.compile takes the whole model as one graph, with the same logits and gradients."""
    tokens = subject.tokens(2, 12)
    cause = (
        "Read no value of a tensor (.item(), if on a tensor, int(positions.max())), and use "
        "PyTorch's own functions on tensors."
    )
    torch.compiler.reset()
    compiled = subject.model()
    compiled.compile(backend="aot_eager", fullgraph=True)
    with explained("torch.compile with fullgraph=True", cause):
        found = gradients(compiled, tokens)
    plain = subject.model()
    agree(found, gradients(plain, tokens), "torch.compile", cause)
    same(logits(compiled, tokens), logits(plain, tokens), "the logits of torch.compile", cause)
