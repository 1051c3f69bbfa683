"""What a run is called, and the names under which it logs: loggers and dashboard share them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Against the optimizer step, which is W&B's own step.
TRAIN_LOSS = "train/loss"
VAL_LOSS = "val/bits_per_byte"
THROUGHPUT = "train/tokens_per_second"
PEAK_MEMORY = "train/peak_memory_gib"

# Against a length, a position or a distance: one row of the history for each.
LENGTH = "eval/length"
BITS_BY_LENGTH = "eval/bits_per_byte"
GAIN_BY_LENGTH = "eval/gain"
FOREIGN_BY_LENGTH = "eval/foreign_bits_per_byte"
ACCURACY_BY_LENGTH = "task/accuracy"
POSITION = "curve/position"
BITS_BY_POSITION = "curve/bits_per_byte"
DISTANCE = "task/distance"
ACCURACY_BY_DISTANCE = "task/accuracy_at_distance"

#: The axis of every metric that has one other than the step.
AXES = {
    BITS_BY_LENGTH: LENGTH,
    GAIN_BY_LENGTH: LENGTH,
    FOREIGN_BY_LENGTH: LENGTH,
    ACCURACY_BY_LENGTH: LENGTH,
    BITS_BY_POSITION: POSITION,
    ACCURACY_BY_DISTANCE: DISTANCE,
}

# In the summary: how the run ended, as a word, and as numbers that a chart can add up.
STATUS = "outcome/status"
ERROR = "outcome/error"
FAILED = "outcome/failed"
DIVERGED = "outcome/diverged"

#: Of the config: what was chosen. Runs that share it differ by seed, unless the sweep changed more.
SETTING = "setting"


def choices(config: Mapping[str, Any]) -> list[str]:
    """What was chosen, for names and tags: the scheme, a span that is not full, and a task."""
    span = config["span"]["name"]
    names = [config["scheme"]["name"], *([] if span == "full" else [span])]
    return [*names, config["task"]["name"]] if "task" in config else names


def setting(config: Mapping[str, Any]) -> str:
    """`rope-sliding`: by this the dashboard groups runs into bands over seeds."""
    return "-".join(choices(config))


def run_name(config: Mapping[str, Any]) -> str:
    """`rope-sliding-seed0`."""
    return f"{setting(config)}-seed{config['seed']}"
