"""Heads: how many there are and how wide they are is the user's choice."""

from __future__ import annotations

import dataclasses

from posexp.testing.check import CHECKS, CheckFailure, check
from posexp.testing.compare import explained, in_a_line, same
from posexp.testing.subject import Subject, logits


@check(needs=("kernels_agree",))
def other_head_counts(subject: Subject) -> None:
    """3 and 6 heads work, on as many key/value heads or fewer; an odd width works or is refused."""
    width = subject.dims.d_head
    odd = width if width % 2 else width + 1
    for n_heads, n_kv_heads, d_head in ((3, 3, width), (3, 1, width), (6, 2, width), (2, 2, odd)):
        dims = dataclasses.replace(
            subject.dims,
            d_model=n_heads * d_head,
            n_heads=n_heads,
            n_kv_heads=n_kv_heads,
            d_head=d_head,
        )
        given = f"{n_heads} heads, {d_head} wide, on {n_kv_heads} key/value heads"
        try:
            subject.spec.build(subject.config, dims)
        except ValueError as error:
            if d_head % 2:
                continue  # the one refusal that is expected
            raise CheckFailure(
                f"{given} are refused: {error}. Any number of heads is legal: take it from dims"
            ) from error
        except Exception as error:
            raise CheckFailure(
                f"building for {given} raised {in_a_line(error)}. Take the sizes from "
                "dims; where a width cannot be served, raise ValueError"
            ) from error
        _works(dataclasses.replace(subject, dims=dims), given)


def _works(subject: Subject, given: str) -> None:
    cause = (
        "Is a number of heads fixed, or a power of two, or are queries' heads (dims.n_heads) taken "
        "for keys' (k.shape[1])?"
    )
    if subject.dims.d_head % 2:
        cause = "A head this wide may be refused: then raise ValueError when built."
    try:
        CHECKS["shapes_and_dtypes"](subject)
    except CheckFailure as failure:
        raise CheckFailure(f"with {given}: {failure} {cause}") from failure
    with explained(f"a pass with {given}", cause):
        model, eager = subject.model(), subject.model("eager")
        tokens = subject.tokens(2, min(12, model.max_length or 12))
        found, expected = logits(model, tokens), logits(eager, tokens)
    same(found, expected, f"fast kernels with {given}, against eager", cause)
