"""Decoding: a cache gives what one pass over the whole gives."""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.model import Cache, Transformer
from posexp.testing.check import NotApplicable, check
from posexp.testing.compare import explained, same
from posexp.testing.subject import Subject, logits

CHUNKINGS = ((1,) * 24, (4, 3, 1, 1, 1, 9, 5))
CAUSE = (
    "A cache holds keys as they were when their token came: does remap_positions look at more than "
    "each position? If results are meant to change with the length, declare length_dependent = True"
)
STEADY = "Does it change with the length before steady_until?"


@check(
    needs=(
        "batch_mates_do_not_matter",
        "equal_rows_of_positions_equal_one",
        "window_counts_visible_keys",
    )
)
def cached_equals_full(subject: Subject) -> None:
    """Decoding from a cache, in any chunking and behind pads, gives what the full pass gives.

    For a length-dependent scheme, as far as steady_until.
    """
    if not subject.dims.causal:
        raise NotApplicable("a bidirectional model is not decoded")
    model, length, cause = subject.model(), 24, CAUSE
    if model.scheme.length_dependent:
        length, cause = min(length, model.scheme.steady_until), STEADY
        if length < 2 or model.scheme.acts_on & {"embed", "remap_positions"}:
            raise NotApplicable("it depends on the length, so a cache refuses to go on")
    tokens = subject.tokens(2, length)
    full = logits(model, tokens)
    for chunks in CHUNKINGS:
        what = f"{length} tokens in chunks of {', '.join(map(str, dict.fromkeys(chunks)))}"
        with explained(f"decoding {what}", cause):
            found = decode(model, tokens, chunks)
        same(found, full, f"{what} from a cache, against one pass", cause)
    pads = length // 3
    real = torch.arange(length // 2).expand(2, -1) >= torch.tensor([[pads], [0]])
    found = decode(model, tokens, (length // 2, 1, 2, length), real)
    alone = logits(model, tokens[:1, pads:])
    same(found[:1, pads:], alone, f"a row behind {pads} pads from a cache, against it alone", cause)


def decode(
    model: Transformer, tokens: Tensor, chunks: tuple[int, ...], real: Tensor | None = None
) -> Tensor:
    """The logits (B, T, V) of `tokens`, as many at a time as `chunks` say, as far as they go."""
    cache, found = Cache(), []
    for chunk in chunks:
        piece = tokens[:, cache.length : cache.length + chunk]
        if piece.shape[1]:
            padding = real if cache.length == 0 else None
            found.append(logits(model, piece, cache=cache, real=padding))
    return torch.cat(found, dim=1)
