"""The `evaluation` block of a configuration, checked before anything is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posexp.data.documents import SPLITS, Corpus
from posexp.evaluation.anchors import place_anchors
from posexp.evaluation.foreign import check_foreign
from posexp.registry import nearest

_AT_LEAST = {
    "targets": 1,
    "anchors": 1,
    "curve_windows": 0,
    "literature_windows": 0,
    "batch_tokens": 1,
}
_KEYS = ("lengths", "split", "foreign_split", *_AT_LEAST)


def eval_lengths(config: Mapping[str, Any], context_length: int) -> list[int]:
    """The lengths L that are tested, ascending: those asked for, or T/2, T, 2T, 4T and 8T."""
    lengths = config["lengths"]
    if lengths is None:
        return [context_length // 2, *(context_length * n for n in (1, 2, 4, 8))]
    return list(lengths)


def check_evaluation(
    config: Mapping[str, Any], context_length: int, corpus: Corpus | None = None
) -> None:
    """Raise `ValueError` where the evaluation could not be carried out as it is configured.

    `config` is the `evaluation` block, `context_length` the training length T. With `corpus`, the
    documents are checked too: the split needs one of Lmax + 1 tokens, and the foreign split one
    that can lend Lmax - T tokens to it.
    """
    _check_keys(config)
    for key, least in _AT_LEAST.items():
        if not _is_integer(config[key]) or config[key] < least:
            raise ValueError(
                f"evaluation.{key} must be an integer of at least {least}, got {config[key]!r}"
            )
    for key in ("split", "foreign_split"):
        value = config[key]
        if value not in SPLITS and not (key == "foreign_split" and value is None):
            none = " or null (no foreign prefix)" if key == "foreign_split" else ""
            raise ValueError(
                f"evaluation.{key} must be {', '.join(SPLITS)}{none}, got {value!r}"
                + (nearest(value, SPLITS) if isinstance(value, str) else "")
            )
    _check_targets(config["targets"], context_length)
    lengths = _check_lengths(config, context_length)
    if config["batch_tokens"] < lengths[-1]:
        raise ValueError(
            f"evaluation.batch_tokens={config['batch_tokens']} does not hold one window of the "
            f"longest length; nearest valid: {lengths[-1]}"
        )
    if corpus is not None:
        place_anchors(
            corpus.split(config["split"]), lengths[-1], config["targets"], config["anchors"]
        )
        if config["foreign_split"] is not None and lengths[-1] > context_length:
            check_foreign(
                corpus.split(config["split"]),
                corpus.split(config["foreign_split"]),
                longest=lengths[-1],
                prefix=lengths[-1] - context_length,
            )


def _check_keys(config: Mapping[str, Any]) -> None:
    for key in config:
        if key not in _KEYS:
            raise ValueError(
                f"evaluation.{key} is not a setting; valid: {', '.join(_KEYS)}"
                + nearest(str(key), _KEYS)
            )
    missing = [key for key in _KEYS if key not in config]
    if missing:
        raise ValueError(f"missing from the evaluation settings: {', '.join(missing)}")


def _check_targets(targets: int, context_length: int) -> None:
    if context_length < 4:
        raise ValueError(
            f"context_length={context_length} is too short to evaluate: targets is at most a "
            "quarter of it, so it must be at least 4"
        )
    if targets > context_length // 4:
        raise ValueError(
            f"evaluation.targets={targets} is more than a quarter of context_length="
            f"{context_length}, so that targets would see too little; "
            f"nearest valid: {context_length // 4}"
        )


def _check_lengths(config: Mapping[str, Any], context_length: int) -> list[int]:
    asked = config["lengths"]
    if asked is not None and (
        isinstance(asked, str)
        or not hasattr(asked, "__len__")
        or not len(asked)
        or not all(_is_integer(length) for length in asked)
    ):
        raise ValueError(f"evaluation.lengths must be null or a list of integers, got {asked!r}")
    lengths = eval_lengths(config, context_length)
    if sorted(set(lengths)) != lengths:
        raise ValueError(
            f"evaluation.lengths={lengths} must ascend; nearest valid: {sorted(set(lengths))}"
        )
    if lengths[0] < config["targets"]:
        raise ValueError(
            f"evaluation.lengths: {lengths[0]} is shorter than targets={config['targets']}, the "
            "part of a window that is scored"
        )
    if context_length not in lengths:
        raise ValueError(
            f"evaluation.lengths={lengths} must hold the training length {context_length}, the "
            f"baseline of every other; nearest valid: {sorted({*lengths, context_length})}"
        )
    return lengths


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
