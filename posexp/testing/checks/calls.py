"""What a call may know: the positions it is given, and nothing of other calls or instances."""

from __future__ import annotations

import torch
from torch import Tensor

from posexp.scheme import PositionScheme
from posexp.testing.check import check
from posexp.testing.compare import gap, holds, same
from posexp.testing.outcomes import Inputs, outcomes, part
from posexp.testing.subject import Subject, logits

CACHE = "Is something cached by length, or kept from an earlier call? Keep no table of a call."


@check(needs=("tensors_are_registered", "initialisation_is_deterministic"))
def given_positions_count(subject: Subject) -> None:
    """What a scheme gives at a position depends on that position, not on its place in the call."""
    # Lengths that no other check uses: a cache keyed by length is another check's to find.
    whole, start, stop = torch.arange(17), 4, 15
    if subject.scheme().length_dependent:
        return  # then the pieces may differ; `pieces_equal_the_full_pass` holds it to that
    full = outcomes(subject.scheme(), subject.dims, whole)
    piece = outcomes(subject.scheme(), subject.dims, whole[start:stop])
    for (method, layer), value in piece.items():
        same(
            value,
            part(method, full[method, layer], start, stop),
            f"{method} (layer {layer}) at positions {start} to {stop - 1} alone and among 0 to 16",
            "Does it count tokens itself, with arange or the length of its input? Use the positions"
            " that are passed in.",
        )


@check(needs=("given_positions_count",))
def earlier_calls_leave_no_trace(subject: Subject) -> None:
    """A scheme that was used before, at other lengths and places, gives what a fresh one gives."""
    used = subject.model()
    tokens = subject.tokens(2, 24)
    for length in (8, 24, 8):
        found = logits(used, tokens[:, :length])
        fresh = logits(subject.model(), tokens[:, :length])
        same(found, fresh, f"{length} tokens after other calls, against a fresh model", CACHE, 1e-6)
    for start in (0, 3):
        positions = torch.arange(start, start + 8)
        found = logits(used, tokens[:, :8], positions=positions)
        fresh = logits(subject.model(), tokens[:, :8], positions=positions)
        what = f"8 tokens at positions from {start} after other calls, against a fresh model"
        same(found, fresh, what, CACHE, 1e-6)
    if not used.scheme.length_dependent:
        _pieces_are_slices(subject)


def _pieces_are_slices(subject: Subject) -> None:
    # A cache on the class serves fresh models too: only the pieces of a longer call betray it.
    full = outcomes(subject.scheme(), subject.dims, torch.arange(24))
    for start in (0, 3):
        piece = outcomes(subject.scheme(), subject.dims, torch.arange(start, start + 8))
        for (method, layer), value in piece.items():
            what = f"{method} (layer {layer}) at 8 positions from {start}, against a longer call"
            same(value, part(method, full[method, layer], start, start + 8), what, CACHE)


@check(needs=("earlier_calls_leave_no_trace",))
def other_instances_do_not_disturb(subject: Subject) -> None:
    """Another instance, differently configured and with other weights, changes nothing."""
    cause = "Is there a cache or a buffer on the class or the module, shared by its instances?"
    tokens = subject.tokens(2, 13)
    model = subject.model()
    before = logits(model, tokens)
    other = subject.variant().model(seed=1)
    logits(other, tokens)
    same(logits(model, tokens), before, "13 tokens before and after another instance", cause, 1e-6)
    if model.scheme.length_dependent:
        return
    # The other instance comes second at one length and first at the next: if they share anything,
    # one of the two gets what is not its own.
    dims = subject.dims
    second = outcomes(other.scheme, dims, torch.arange(13))
    first = outcomes(other.scheme, dims, torch.arange(14))
    own = outcomes(model.scheme, dims, torch.arange(14))
    own_before = outcomes(model.scheme, dims, torch.arange(13))
    for mine, longer in ((second, first), (own_before, own)):
        for (method, layer), value in mine.items():
            what = f"{method} (layer {layer}) with a second instance in use"
            same(value, part(method, longer[method, layer], 0, 13), what, cause)


@check(needs=("shapes_and_dtypes",))
def inputs_are_not_changed(subject: Subject) -> None:
    """No method changes the tensors that it is given."""
    dims, positions = subject.dims, torch.arange(7)
    scheme = subject.scheme()
    given = Inputs.of(dims, 2, 7, torch.float32)
    kept = Inputs.of(dims, 2, 7, torch.float32)

    def untouched(method: str, *pairs: tuple[Tensor, Tensor]) -> None:
        for now, before in pairs:
            holds(
                torch.equal(now, before),
                f"{method} changed its input in place, by up to {gap(now, before):.2g}: other code "
                "still uses that tensor. Replace x.add_(...), x *= ... and x[...] = ... by "
                "x + ..., x * ... and torch.cat",
            )

    with torch.no_grad():
        scheme.embed(given.x, positions)
    untouched("embed", (given.x, kept.x), (positions, torch.arange(7)))
    for layer in range(dims.n_layers):
        _call_layer(scheme.for_layer(layer), given, positions)
        pairs = ((given.q, kept.q), (given.k, kept.k), (positions, torch.arange(7)))
        untouched(f"a method of layer {layer}", *pairs)


@torch.no_grad()
def _call_layer(scheme: PositionScheme, given: Inputs, positions: Tensor) -> None:
    scheme.transform_query(given.q, positions)
    scheme.transform_key(given.k, positions)
    scheme.bias(positions, positions)
    scheme.mask(positions, positions)
    scheme.distance_bias(positions)
    scheme.distance_keys(positions)
    scheme.distance_values(positions)
