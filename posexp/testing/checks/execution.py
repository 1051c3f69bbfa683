"""Other ways to run the same model: activation checkpointing and compilation."""

from __future__ import annotations

from functools import partial

import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils.checkpoint import checkpoint

from posexp.testing.check import check
from posexp.testing.checks.kernels import agree
from posexp.testing.checks.training import gradients
from posexp.testing.compare import explained, holds, same
from posexp.testing.subject import Subject, logits

#: The first length, any length, and one to spare.
COMPILATIONS = 3


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


@check(needs=("kernels_agree", "reads_no_values"), slow=True)
def compile_agrees(subject: Subject) -> None:
    """torch.compile takes the model as one graph, made at most 3 times for lengths 8 to 16."""
    cause = (
        "Read no value of a tensor, print nothing, keep nothing between calls, and use PyTorch's "
        "own functions on tensors."
    )
    tokens = subject.tokens(2, 16)
    torch.compiler.reset()
    trained = subject.model()
    trained.compile(backend="aot_eager", fullgraph=True)
    with explained("torch.compile with fullgraph=True", cause):
        found = gradients(trained, tokens[:, :12])
    agree(found, gradients(subject.model(), tokens[:, :12]), "torch.compile", cause)
    torch.compiler.reset()
    count = CompileCounterWithBackend("aot_eager")
    plain, compiled = subject.model(), subject.model()
    compiled.compile(backend=count, fullgraph=True)
    for length in range(8, 17):
        with explained(f"torch.compile with {length} tokens", cause):
            found = logits(compiled, tokens[:, :length])
        expected = logits(plain, tokens[:, :length])
        same(found, expected, f"the logits of torch.compile for {length} tokens", cause)
        holds(
            count.frame_count <= COMPILATIONS,
            f"lengths 8 to {length} took {count.frame_count} compilations, allowed {COMPILATIONS}: "
            "each length is a graph of its own. Does Python loop over tokens, or compare or store "
            "a length?",
        )
