"""Evaluation of a checkpoint on its own: `posexp eval CHECKPOINT [evaluation.key=value ...]`."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table

from posexp.data.load import load_corpus
from posexp.evaluation.trained import evaluate_trained
from posexp.files import write_json
from posexp.model import Transformer
from posexp.registry import nearest
from posexp.training.build import make_model
from posexp.training.checkpoints import LAST, model_weights, read_checkpoint
from posexp.training.machine import use_machine
from posexp.training.provenance import check_provenance

#: What may differ from training; everything else is fixed by the weights.
OPEN_SECTIONS = ("evaluation", "data")


def evaluate_checkpoint(path: Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """Measure a checkpoint (a file, or a job's directory), print it, and keep it beside the job.

    Writes `evaluation-1.json` (then -2, ...) beside the checkpoint's directory. Raises `ValueError`
    for a file that is not a posexp checkpoint, for an unknown setting, and for one that the weights
    have fixed.
    """
    checkpoint = read_checkpoint(path)
    provenance = checkpoint["posexp"]
    config = apply_overrides(provenance["config"], overrides)
    use_machine(config)
    model = load_model(config, checkpoint)
    corpus = load_corpus(config["data"])
    if config["data"] == provenance["config"]["data"]:
        for warning in check_provenance(provenance, corpus):
            print(f"warning: {warning}", file=sys.stderr)
    evaluation, _ = evaluate_trained(model, corpus, config)
    home = path if path.is_dir() else path.parent
    if home.name == LAST.parent.name:
        home = home.parent  # the job's own directory
    written = _unused(home, "evaluation")
    record = {
        "checkpoint": path.name,
        "step": checkpoint["global_step"],
        "corpus": {"name": corpus.name, "fingerprint": corpus.fingerprint},
        "evaluation": evaluation,
    }
    title = f"{config['scheme']['name']} at step {checkpoint['global_step']} on {corpus.name}"
    print_evaluation(evaluation, title)
    write_json(written, record)
    print(f"written to {written}")
    return record


def load_model(config: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> Transformer:
    """The transformer that a checkpoint's own config describes, with its weights.

    Raises `ValueError` if `config` describes another scheme or model than the checkpoint holds: two
    pair layouts of RoPE have the same weights and different meanings.
    """
    recorded = checkpoint["posexp"]["config"]
    for section in ("model", "scheme", "span"):
        if config[section] != recorded[section]:
            raise ValueError(
                f"the checkpoint was trained with {section}={recorded[section]}, "
                f"not {config[section]}"
            )
    model = make_model(config)
    model.load_state_dict(model_weights(checkpoint))
    return model


def apply_overrides(config: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """A copy of `config` with `section.key=value` applied to the sections that may change."""
    changed = copy.deepcopy(dict(config))
    for override in overrides:
        key, equals, _ = override.partition("=")
        section, _, name = key.partition(".")
        if not equals or not name:
            raise ValueError(f"{override!r} is not of the form evaluation.key=value")
        if section not in OPEN_SECTIONS:
            raise ValueError(
                f"{key} is fixed by the checkpoint; only {' and '.join(OPEN_SECTIONS)} can change"
            )
        if name not in changed[section]:
            raise ValueError(
                f"there is no setting {key}{nearest(name, changed[section])}; "
                f"valid: {', '.join(f'{section}.{k}' for k in changed[section])}"
            )
        value = OmegaConf.to_container(OmegaConf.from_dotlist([override]))
        changed[section][name] = value[section][name]
    if changed["data"] != config["data"] and changed["data"]["bos"] != config["data"]["bos"]:
        raise ValueError(f"data.bos={config['data']['bos']} is fixed by the checkpoint")
    return changed


def print_evaluation(evaluation: Mapping[str, Any], title: str) -> None:
    """A row per length: anchored loss, its standard error, and with a foreign prefix."""
    table = Table(title=title, caption="bits per byte on the same targets at every length")
    for column in ("length", "anchored", "s.e.", "foreign prefix"):
        table.add_column(column, justify="right")
    foreign = {row["length"]: row for row in evaluation["foreign"]}
    for row in evaluation["anchored"]:
        other = foreign.get(row["length"])
        table.add_row(
            str(row["length"]),
            _shown(row, "bits_per_byte"),
            _shown(row, "standard_error"),
            "" if other is None else _shown(other, "bits_per_byte"),
        )
    Console().print(table)


def _shown(row: Mapping[str, Any], key: str) -> str:
    if row[key] is not None:
        return f"{row[key]:.3f}"
    return {"memory": "n/a (memory)", "diverged": "diverged"}.get(row["status"], "n/a")


def _unused(home: Path, stem: str) -> Path:
    number = 1
    while (path := home / f"{stem}-{number}.json").exists():
        number += 1
    return path
