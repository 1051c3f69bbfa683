"""Masks: padding, windows, and rows that see nothing."""

from __future__ import annotations

import torch

from posexp.model.kernels.choice import KERNELS, IllegalKernelError
from posexp.model.layout import Layout
from posexp.testing.attention import attend, random_heads
from posexp.testing.check import CheckFailure, NotApplicable, check
from posexp.testing.checks.declarations import FOUNDATIONS
from posexp.testing.compare import holds, same
from posexp.testing.subject import Subject, logits


@check(needs=FOUNDATIONS)
def masked_rows_give_zeros(subject: Subject) -> None:
    """A query that sees no key gives zeros, and everything stays finite, gradients too."""
    dims, scheme = subject.dims, subject.scheme()
    tokens = subject.tokens(2, 7)
    real = torch.ones(2, 7, dtype=torch.bool)
    real[0, :2] = False
    layout = Layout.of_tokens(tokens, causal=dims.causal, real=real)
    if dims.causal:
        masked = ~real
    else:  # there, even padding sees the real tokens: only an empty row sees none
        layout = Layout.of_tokens(tokens, causal=False, real=real & torch.tensor([[False], [True]]))
        masked = torch.tensor([[True], [False]]).expand(2, 7)
    for layer in range(dims.n_layers):
        part = scheme.for_layer(layer)
        for name, kernel in KERNELS.items():
            if kernel.refusal(part, dims.causal, 0.0) is not None or not kernel.accepts(layout):
                continue
            heads = [h.requires_grad_() for h in random_heads(dims, 2, 7)]
            out = attend(part, kernel, layout, *heads)
            where = f"(layer {layer}, kernel {name})"
            empty = out.transpose(1, 2)[masked]
            if not empty.abs().max() == 0:
                raise CheckFailure(
                    f"a query that sees no key gives {empty.abs().max():.2g} {where}, expected 0: "
                    "does adjust_output add something, or divide by a sum of weights that is 0?"
                )
            holds(bool(out.isfinite().all()), f"the output is not finite {where}")
            for gradient in torch.autograd.grad(out.sum() + out.square().sum(), heads):
                holds(
                    bool(gradient.isfinite().all()),
                    f"gradients are not finite where a query sees no key {where}: does a method "
                    "compute with the -inf of masked scores?",
                )


@check(needs=("causality", "masked_rows_give_zeros"))
def padding_is_invisible(subject: Subject) -> None:
    """Editing padding leaves the logits of real tokens as they were, in every kernel."""
    tokens = subject.tokens(2, 9)
    real = torch.ones(2, 9, dtype=torch.bool)
    real[:, :3] = False
    edited = tokens.clone()
    edited[:, :3] = (edited[:, :3] + 1) % 7
    for kernel in subject.kernels():
        model = subject.model(kernel)
        try:
            expected, found = (logits(model, t, real=real) for t in (tokens, edited))
        except IllegalKernelError:
            continue  # this kernel was asked for by name and says that it cannot
        same(
            found[:, 3:],
            expected[:, 3:],
            f"real tokens after the padding was edited (kernel {kernel})",
            "Does the scheme mix tokens (sum, mean or roll along the sequence)?",
            1e-6,
        )


@check(needs=FOUNDATIONS)
def window_counts_visible_keys(subject: Subject) -> None:
    """A window of W shows at most W keys, the token itself included; bidirectional |n| < W."""
    scheme, positions = subject.scheme(), torch.arange(24)
    parts = [scheme.for_layer(layer) for layer in range(subject.dims.n_layers)]
    if all(part.window is None for part in parts):
        raise NotApplicable("no layer has a window")
    inside = (positions[:, None] - positions).abs()
    for layer, part in enumerate(parts):
        if part.window is None:
            continue
        visible = part.mask(positions, positions)
        outside = visible & (inside >= part.window)
        if outside.any():
            query, key = outside.nonzero()[0].tolist()
            raise CheckFailure(
                f"layer {layer} has a window of {part.window}, and the query at {query} sees the "
                f"key at {key}, {abs(query - key)} away: W counts the token itself, |n| < W"
            )
        if "mask" not in part.acts_on:
            holds(
                torch.equal(visible, inside < part.window),
                f"layer {layer} hides keys inside its window of {part.window}",
            )
