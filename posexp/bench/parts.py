"""The parts of a bench, each a stream of rows: attention, step, memory, decode, peers.

An error in a cell becomes that cell's row, and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from posexp.bench.attention import Inputs, attention_call, fused_causal_call
from posexp.bench.candidates import Candidate
from posexp.bench.decode import TOKENS, decoding, next_token
from posexp.bench.flops import step_flops
from posexp.bench.memory import peak_memory
from posexp.bench.models import (
    DTYPES,
    distinct_layers,
    kernels_used,
    plain_row,
    synchronizer,
    with_scheme,
    without_positions,
)
from posexp.bench.peers import Peer
from posexp.bench.row import Row, one_line
from posexp.bench.settings import Settings
from posexp.bench.step import random_batch, training_step
from posexp.bench.timing import MIN_ROUNDS, Call, Spread, interleave, ratio
from posexp.model import Transformer


@dataclass(frozen=True)
class Bench:
    """What every part needs: the settings, what is measured, and the matrix peak by precision."""

    settings: Settings
    candidates: Sequence[Candidate]
    peers: Sequence[tuple[Peer, Candidate]] = ()
    peak: dict[str, float] | None = None  # operations a second

    def rounds(self, *calls: Call) -> list[list[float]]:
        """Seconds of each of the `calls` in each round."""
        settings = self.settings
        named = {str(i): call for i, call in enumerate(calls)}
        wait = synchronizer(settings.device)
        timed = interleave(named, settings.rounds, settings.budget, synchronize=wait)
        return list(timed.values())


def attention_rows(bench: Bench) -> Iterator[Row]:
    """Forward and backward of one layer's attention against fused causal attention."""
    lengths = bench.settings.attention_lengths
    return _cells(bench, "attention", bench.settings.precisions, lengths, _attention_cell)


def step_rows(bench: Bench) -> Iterator[Row]:
    """A whole training step against that of the same model without positions."""
    settings = bench.settings
    return _cells(bench, "step", settings.precisions, settings.lengths, _step_cell)


def memory_rows(bench: Bench) -> Iterator[Row]:
    """Peak memory of one row's attention, forward and backward, in the first precision."""
    settings = bench.settings
    return _cells(bench, "memory", settings.precisions[:1], settings.memory_lengths, _memory_cell)


def decode_rows(bench: Bench) -> Iterator[Row]:
    """Tokens decoded one by one from a cache that holds a row, against those of NoPE."""
    settings = bench.settings
    return _cells(bench, "decode", settings.precisions, settings.decode_lengths, _decode_cell)


def peer_rows(bench: Bench) -> Iterator[Row]:
    """Training steps of NoPE, ours and a peer's in turn, at one size."""
    settings = bench.settings
    for precision in settings.precisions:
        for length in settings.peer_lengths:
            for peer, candidate in bench.peers:
                row = Row(
                    "peers", peer.label, precision, length, settings.batch(length),
                    ours=peer.ours,
                )  # fmt: skip
                try:
                    yield _peer_cell(bench, row, peer, candidate)
                except Exception as error:
                    yield replace(row, error=one_line(error))


Cell = Callable[[Bench, Row, Candidate], Iterator[Row]]


def _cells(
    bench: Bench, part: str, precisions: Sequence[str], lengths: Sequence[int], cell: Cell
) -> Iterator[Row]:
    for precision in precisions:
        for length in lengths:
            for candidate in bench.candidates:
                row = Row(part, candidate.label, precision, length)
                if candidate.config is None:
                    yield replace(row, error=candidate.error)
                    continue
                try:
                    yield from cell(bench, row, candidate)
                except Exception as error:
                    yield replace(row, error=one_line(error))


def _attention_cell(bench: Bench, row: Row, candidate: Candidate) -> Iterator[Row]:
    settings, length = bench.settings, row.length
    batch, dtype = settings.batch(length), DTYPES[row.precision]
    model = with_scheme(candidate.config, length, settings.device)
    inputs = Inputs.random(model.dims, batch, length, dtype, settings.device)
    floor = fused_causal_call(model.dims, inputs)
    for layers, label in _labelled_layers(model, row.label):
        kernel = kernels_used(model, plain_row(model, length), layers[:1])
        seconds, baseline = bench.rounds(attention_call(model, layers[0], inputs), floor)
        yield replace(row, label=label, batch=batch, kernel=kernel, **_timed(seconds, baseline))


def _step_cell(bench: Bench, row: Row, candidate: Candidate) -> Iterator[Row]:
    settings, length = bench.settings, row.length
    rows = settings.batch(length)
    batch = random_batch(rows, length, settings.device)
    model = with_scheme(candidate.config, length, settings.device)
    optimizer = candidate.config["optimizer"]
    seconds, baseline = bench.rounds(
        training_step(model, optimizer, batch, row.precision),
        training_step(without_positions(model), optimizer, batch, row.precision),
    )
    timed = _timed(seconds, baseline)
    rate = 1 / timed["seconds"].median
    yield replace(
        row,
        batch=rows,
        kernel=kernels_used(model, plain_row(model, length)),
        tokens_per_second=rows * length * rate,
        share_of_peak=step_flops(model, rows, length) * rate / bench.peak[row.precision],
        **timed,
    )


def _memory_cell(bench: Bench, row: Row, candidate: Candidate) -> Iterator[Row]:
    settings = bench.settings
    model = with_scheme(candidate.config, row.length, settings.device)
    for layers, label in _labelled_layers(model, row.label):
        point = {
            "config": candidate.config,
            "layer": layers[0],
            "length": row.length,
            "precision": row.precision,
            "device": settings.device,
            "threads": settings.threads,
        }
        kernel = kernels_used(model, plain_row(model, row.length), layers[:1])
        yield replace(row, label=label, batch=1, kernel=kernel, bytes=peak_memory(point))


def _decode_cell(bench: Bench, row: Row, candidate: Candidate) -> Iterator[Row]:
    settings, length = bench.settings, row.length
    # Both caches grow alike, by the tokens of every round.
    room = length + TOKENS * (max(settings.rounds, MIN_ROUNDS) + 1)
    model = with_scheme(candidate.config, room, settings.device)
    seconds, baseline = bench.rounds(
        decoding(model, length, row.precision),
        decoding(without_positions(model), length, row.precision),
    )
    seconds, baseline = ([s / TOKENS for s in sample] for sample in (seconds, baseline))
    kernel = kernels_used(model, next_token(model, length))
    yield replace(row, batch=1, kernel=kernel, **_timed(seconds, baseline))


def _peer_cell(bench: Bench, row: Row, peer: Peer, candidate: Candidate) -> Row:
    settings, length = bench.settings, row.length
    batch = random_batch(row.batch, length, settings.device)
    ours = with_scheme(candidate.config, length, settings.device)
    theirs = peer.build(ours.config, length).to(settings.device)
    models = (theirs, ours, without_positions(ours))
    optimizer = candidate.config["optimizer"]
    peer_seconds, our_seconds, baseline = bench.rounds(
        *(training_step(model, optimizer, batch, row.precision) for model in models)
    )
    return replace(
        row,
        kernel=kernels_used(ours, plain_row(ours, length)),
        ours_ratio=ratio(our_seconds, baseline),
        peer_ratio=ratio(peer_seconds, our_seconds),
        **_timed(peer_seconds, baseline),
    )


def _timed(seconds: Sequence[float], baseline: Sequence[float]) -> dict[str, Spread]:
    return {
        "ratio": ratio(seconds, baseline),
        "seconds": Spread.of(seconds),
        "baseline_seconds": Spread.of(baseline),
    }


def _labelled_layers(model: Transformer, label: str) -> Iterator[tuple[list[int], str]]:
    """The groups of layers that share a scheme; named where there are several."""
    groups = distinct_layers(model)
    for layers in groups:
        which = "layer" if len(layers) == 1 else "layers"
        numbers = " ".join(map(str, layers))
        yield layers, label if len(groups) == 1 else f"{label} ({which} {numbers})"
