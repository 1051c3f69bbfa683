"""One sequence: moved, looked at from behind, and taken in pieces."""

from __future__ import annotations

import torch

from posexp.model.kernels.choice import KERNELS
from posexp.model.layout import Layout
from posexp.testing.attention import attend, random_heads
from posexp.testing.check import NotApplicable, check
from posexp.testing.checks.declarations import FOUNDATIONS
from posexp.testing.compare import NOISE, gap, holds, same
from posexp.testing.subject import Subject, logits


@check(needs=("positions_in_float32",))
def shift_invariance_as_declared(subject: Subject) -> None:
    """Where shift_invariant is declared, adding a constant to all positions changes nothing."""
    model = subject.model()
    if not model.scheme.shift_invariant:
        raise NotApplicable("it declares no shift invariance")
    tokens, positions = subject.tokens(2, 12), torch.arange(12)
    expected = logits(model, tokens, positions=positions)
    for shift in (1, 7, 100):
        if model.max_length is not None and 12 + shift > model.max_length:
            continue
        same(
            logits(model, tokens, positions=positions + shift),
            expected,
            f"all positions moved by {shift}",
            "It declares shift_invariant = True and depends on absolute positions: set it to False",
            NOISE,
        )


@check(needs=FOUNDATIONS)
def causality(subject: Subject) -> None:
    """Editing a token leaves the logits before it as they were, in every kernel."""
    if not subject.dims.causal:
        raise NotApplicable("bidirectional attention sees the future")
    tokens = subject.tokens(1, 12)
    for kernel in subject.kernels():
        model = subject.model(kernel)
        expected = logits(model, tokens)
        for j in (1, 7, 11):
            edited = tokens.clone()
            edited[:, j] = (edited[:, j] + 1) % 7
            changed = (logits(model, edited) - expected).abs().amax(dim=(0, 2))
            early = changed[:j].max().item()
            holds(
                early <= 1e-6,
                f"changing token {j} changed the logits at {int(changed[:j].argmax())} by "
                f"{early:.2g} (kernel {kernel}): the scheme looks ahead. Does it mix tokens "
                "(roll, mean or sum along the sequence), or unmask a score?",
            )
            holds(changed[j].item() > 1e-6, f"changing token {j} changed nothing at {j}")


@check(needs=("causality",))
def pieces_equal_the_full_pass(subject: Subject) -> None:
    """Prefixes and pieces give what the full pass gives, unless length_dependent is declared.

    Then the declaration must be true: some prefix differs.
    """
    if not subject.dims.causal:
        raise NotApplicable("bidirectional attention has no prefix that stands alone")
    model, tokens = subject.model(), subject.tokens(2, 24)
    full = logits(model, tokens)
    prefixes = {n: logits(model, tokens[:, :n]) for n in (1, 7, 12, 23)}
    if model.scheme.length_dependent:
        largest = max(gap(found, full[:, :n]) for n, found in prefixes.items())
        holds(
            largest > NOISE,
            f"it declares length_dependent = True, but prefixes equal the full pass within "
            f"{largest:.2g}: leave the declaration out",
        )
        return
    cause = (
        "Does the result for a token depend on the length of the call? If it is meant to, declare "
        "length_dependent = True."
    )
    for n, found in prefixes.items():
        same(found, full[:, :n], f"the first {n} tokens alone and among 24", cause)
    _attention_in_pieces(subject, cause)


def _attention_in_pieces(subject: Subject, cause: str) -> None:
    scheme, dims = subject.scheme(), subject.dims
    pieces, positions = (4, 3, 1, 1, 1), torch.arange(10)
    q, k, v = random_heads(dims, 2, 10)
    for layer in range(dims.n_layers):
        part = scheme.for_layer(layer)
        for name, kernel in KERNELS.items():
            if kernel.refusal(part, True, 0.0) is not None:
                continue
            full = attend(part, kernel, Layout(positions, positions), q, k, v)
            start = 0
            for size in pieces:
                stop = start + size
                layout = Layout(positions[start:stop], positions[:stop])
                if kernel.accepts(layout):
                    heads = q[:, :, start:stop], k[:, :, :stop], v[:, :, :stop]
                    found = attend(part, kernel, layout, *heads)
                    what = f"queries {start} to {stop - 1} alone (layer {layer}, kernel {name})"
                    same(found, full[:, :, start:stop], what, cause)
                start = stop
