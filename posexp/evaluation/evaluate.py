"""Every figure of one model: anchored, foreign prefix, position curve, as the literature reports.

A length that cannot be measured has null for its figures and a status that says why
(`posexp.evaluation.status`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posexp.data.documents import Corpus, Document
from posexp.data.masking import Masking
from posexp.evaluation.anchored import anchored_losses, anchored_sizes
from posexp.evaluation.anchors import place_anchors
from posexp.evaluation.curve import position_curve
from posexp.evaluation.foreign import foreign_losses
from posexp.evaluation.literature import literature_row, sliding_losses
from posexp.evaluation.losses import LossRunner, Scored, per_byte
from posexp.evaluation.masked import MaskedBlocks, check_masked, without_whole_windows
from posexp.evaluation.settings import check_evaluation, eval_lengths
from posexp.evaluation.status import Measured, figure_row, measure
from posexp.evaluation.tiles import sampled_tiles, tile_losses


def evaluate(
    model: Callable[[Tensor], Tensor],
    corpus: Corpus,
    config: Mapping[str, Any],
    *,
    context_length: int,
    bos: str,
    device: str | torch.device = "cpu",
    masking: Masking | None = None,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Measure `model` on one split of `corpus` at every length, dropout off and without gradients.

    model
        Tokens (B, L) int64 to float32 logits (B, L, V), in which the logits at i predict token
        i + 1; with `masking`, the token that is masked at i. Its `max_length`, if it has one, is
        the number of positions that it defines.
    config
        The `evaluation` block of a configuration.
    context_length, bos
        The training length T, and what windows start with (`posexp.data.windows`).
    masking
        How a model of masked tokens was trained: it is measured as in `posexp.evaluation.masked`,
        and results have `objective`, `masked` (k) and `not_applicable`, what is left out and why.

    Gives a dict of JSON values (strict: never NaN), and arrays to pair evaluations by: `document`
    and `position` of each anchor, then `anchored_L` and `foreign_L`, the nats per byte (float64) of
    each anchor (`per_byte`), for the lengths that could be measured. `gain` is A(T) less the row's
    own figure.

    Raises `ValueError` for settings that cannot be carried out, such as a split without a document
    of Lmax + 1 tokens.
    """
    check_evaluation(config, context_length, corpus)
    lengths = eval_lengths(config, context_length)
    documents = corpus.split(config["split"])
    anchors = place_anchors(documents, lengths[-1], config["targets"], config["anchors"])
    tokenizer = corpus.tokenizer
    runner = LossRunner(
        model, bos, config["batch_tokens"], device, tokenizer.bos, tokenizer.token_bytes
    )
    masked = None
    if masking is not None:
        check_masked(config, context_length)
        masked = MaskedBlocks.centred(runner, documents, anchors, masking, lengths[-1])
        anchors = masked.anchors
        sizes = masked.sizes()
    else:
        sizes = anchored_sizes(runner, documents, anchors)

    def blocks(length: int) -> np.ndarray:
        if masked is not None:
            return masked.losses(length)
        return anchored_losses(runner, documents, anchors, length)

    def foreign_blocks(length: int) -> np.ndarray:
        lenders = corpus.split(config["foreign_split"])
        if masked is not None:
            return masked.foreign_losses(length, lenders, context_length)
        return foreign_losses(
            runner,
            documents,
            lenders,
            anchors,
            length,
            longest=lengths[-1],
            context_length=context_length,
        )

    beyond = [n for n in lengths if n > context_length and config["foreign_split"] is not None]
    with _evaluating(model):
        measured = {
            "anchored": {n: measure(model, n, lambda n=n: blocks(n)) for n in lengths},
            "foreign": {n: measure(model, n, lambda n=n: foreign_blocks(n)) for n in beyond},
        }
        if masked is None:
            others = _whole_windows(runner, documents, config, lengths, context_length)
        else:
            others = without_whole_windows(masked)

    baseline = measured["anchored"][context_length]
    rows = {
        kind: [figure_row(n, found[n], baseline, anchors.document, sizes) for n in found]
        for kind, found in measured.items()
    }
    arrays = {
        f"{kind}_{n}": per_byte(found[n].losses, sizes)
        for kind, found in measured.items()
        for n in found
        if found[n].ok
    }
    results = {
        "split": config["split"],
        "bos": bos,
        "context_length": context_length,
        "targets": config["targets"],
        "anchors": len(anchors),
        "excluded_documents": anchors.excluded,
        "lengths": lengths,
        **rows,
        **others,
    }
    return results, {"document": anchors.document, "position": anchors.position, **arrays}


def _whole_windows(
    runner: LossRunner,
    documents: Sequence[Document],
    config: Mapping[str, Any],
    lengths: list[int],
    context_length: int,
) -> dict[str, Any]:
    """The position curve and the literature's figures, which score whole windows."""
    longest, count = lengths[-1], config["literature_windows"]

    @cache  # the curve's windows are the literature's at the longest length
    def tiles(length: int, count: int) -> Scored:
        starts = sampled_tiles(documents, longest, length, count)
        return tile_losses(runner, documents, starts, length=length, scored=length)

    def literature(length: int) -> tuple[Scored, Scored]:
        whole = tiles(length, count)
        return whole, sliding_losses(runner, documents, longest, length, count, whole)

    curve, windows = Measured("ok"), config["curve_windows"]
    if windows:
        curve = measure(runner.model, longest, lambda: tiles(longest, windows))
    rows = []
    for length in lengths if count else []:
        found = measure(runner.model, length, lambda n=length: literature(n))
        rows.append(literature_row(length, found.status, found.losses))
    return {
        "curve": position_curve(curve.losses, longest, context_length) if windows else [],
        "curve_status": curve.status,
        "literature": rows,
    }


@contextmanager
def _evaluating(model: object) -> Iterator[None]:
    """Dropout off inside; each module's own mode afterwards, whatever happens."""
    if not isinstance(model, nn.Module):
        yield
        return
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training
