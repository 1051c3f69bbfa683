"""One sequence: moved, looked at from behind, and taken in pieces."""

from __future__ import annotations

import torch

from posexp.model import Transformer
from posexp.model.kernels.choice import KERNELS, IllegalKernelError
from posexp.model.layout import Layout
from posexp.testing.attention import attend, random_heads
from posexp.testing.check import NotApplicable, check
from posexp.testing.checks.declarations import FOUNDATIONS, LONGEST
from posexp.testing.compare import NOISE, explained, gap, holds, same
from posexp.testing.subject import Subject, logits

TWO_LENGTHS = (
    "There may be more keys than queries: is a bias or a mask transposed (queries are rows), or is "
    "one length used for both?"
)


@check(needs=("positions_in_float32",))
def shift_invariance_as_declared(subject: Subject) -> None:
    """shift_invariant is declared where adding a constant to all positions changes nothing."""
    model = subject.model()
    limit = model.max_length
    shifts = [s for s in (1, 7, 100, 10_000) if limit is None or 12 + s <= limit]
    tokens, positions = subject.tokens(2, 12), torch.arange(12)
    expected = logits(model, tokens, positions=positions)
    moved = {s: gap(logits(model, tokens, positions=positions + s), expected) for s in shifts}
    if model.scheme.shift_invariant:
        for shift, measured in moved.items():
            # Far positions cost float32 digits: there, invariance is not to be had exactly.
            holds(
                shift > 100 or measured <= NOISE,
                f"all positions moved by {shift}: off by {measured:.3g}, allowed {NOISE:g}. It "
                "declares shift_invariant = True and depends on absolute positions: set it to "
                "False; or, if only differences should count, does transform_key turn the other "
                "way than transform_query?",
            )
    elif moved:
        largest = max(moved.values())
        holds(
            not largest <= NOISE,
            f"it declares shift_invariant = False, but all positions moved by up to {max(moved)} "
            f"change the logits by {largest:.2g} at most: leave the declaration out",
        )


@check(needs=FOUNDATIONS)
def causality(subject: Subject) -> None:
    """Editing a token leaves the logits before it as they were, in every kernel."""
    if not subject.dims.causal:
        raise NotApplicable("bidirectional attention sees the future")
    tokens = subject.tokens(1, 12)
    for kernel in subject.kernels():
        model = subject.model(kernel)
        try:
            expected = logits(model, tokens)
        except IllegalKernelError:
            continue  # this kernel was asked for by name and says that it cannot
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
            holds(
                changed[j].item() > 1e-6,
                f"changing token {j} changed the logits at {j} by {changed[j]:.2g} (kernel "
                f"{kernel}): does embed overwrite the token, or the mask hide it from itself?",
            )


@check(needs=("causality",))
def pieces_equal_the_full_pass(subject: Subject) -> None:
    """Prefixes and pieces give what the full pass gives, unless length_dependent is declared.

    Then the declaration must be true: some prefix differs.
    """
    if not subject.dims.causal:
        raise NotApplicable("bidirectional attention has no prefix that stands alone")
    model = subject.model()
    if model.scheme.length_dependent:
        _some_prefix_differs(subject, model)
        return
    tokens = subject.tokens(2, 24)
    full = logits(model, tokens)
    prefixes = {n: logits(model, tokens[:, :n]) for n in (1, 7, 12, 23)}
    cause = (
        "Does the result for a token depend on the length of the call? If it is meant to, declare "
        "length_dependent = True."
    )
    for n, found in prefixes.items():
        same(found, full[:, :n], f"the first {n} tokens alone and among 24", cause)
    _attention_in_pieces(subject, cause)


def _some_prefix_differs(subject: Subject, model: Transformer) -> None:
    # Twice as long, too: many schemes change only beyond the training length.
    steady = max(subject.dims.context_length, model.scheme.steady_until)
    longest = min(2 * steady, model.max_length or LONGEST)
    tokens, largest = subject.tokens(2, longest), 0.0
    for length in {min(24, longest), longest}:
        full = logits(model, tokens[:, :length])
        for n in (1, 7, length // 2, length - 1):
            largest = max(largest, gap(logits(model, tokens[:, :n]), full[:, :n]))
    holds(
        largest > NOISE,
        f"it declares length_dependent = True, but prefixes of {longest} tokens equal the full "
        f"pass within {largest:.2g}: leave the declaration out",
    )


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
                    what = f"queries {start} to {stop - 1} alone (layer {layer}, kernel {name})"
                    with explained(what, TWO_LENGTHS):
                        found = attend(part, kernel, layout, *heads)
                    same(found, full[:, :, start:stop], what, cause)
                start = stop
