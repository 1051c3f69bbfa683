"""Evaluation of a checkpoint on its own: `posexp eval CHECKPOINT [evaluation.key=value ...]`."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from rich.console import Console
from rich.table import Table

from posexp.data.load import load_corpus
from posexp.data.recorded import record_of, recorded_tokenizer
from posexp.data.tokenizer import check_tokenizer
from posexp.evaluation.extension import extended, extends
from posexp.evaluation.permission import allowed_files
from posexp.evaluation.trained import evaluate_trained
from posexp.files import write_json
from posexp.local import only
from posexp.model import Transformer
from posexp.registry import nearest
from posexp.training.build import make_model
from posexp.training.checkpoints import LAST, is_sharded, model_weights, read_checkpoint
from posexp.training.machine import use_machine
from posexp.training.plugins import recorded_plugins
from posexp.training.provenance import changed_since, check_corpus

#: What may differ from training; everything else is fixed by the weights.
OPEN_SECTIONS = ("evaluation", "data")


def evaluate_checkpoint(
    path: Path, overrides: Iterable[str] = (), run_copied_plugin: bool = False
) -> dict[str, Any]:
    """Measure a checkpoint (a file, or a job's directory), print it, and keep it beside the job.

    Writes `evaluation-1.json` (then -2, ...) beside the checkpoint's directory. Raises `ValueError`
    for a file that is not a posexp checkpoint, for an unknown setting, and for one that the weights
    have fixed; `PluginError` if a plugin is gone, is another one, or is a file that came with the
    checkpoint and is not allowed with `run_copied_plugin`.
    """
    checkpoint = read_checkpoint(path)
    provenance = checkpoint["posexp"]
    config = apply_overrides(provenance["config"], overrides)
    with its_plugins(path, provenance, run_copied_plugin):
        use_machine(config)
        model = load_model(config, checkpoint)
        same = config["data"] == provenance["config"]["data"]
        trained = config["data"].get("tokenizer") == provenance["config"]["data"].get("tokenizer")
        tokenizer = recorded_tokenizer(home_of(path), provenance) if trained else None
        corpus = load_corpus(config["data"], tokenizer)
        check_tokenizer(record_of(provenance), corpus.tokenizer, "the checkpoint")
        if same:
            check_corpus(provenance, corpus)
        evaluation, _ = evaluate_trained(model, corpus, config)
    written = _unused(home_of(path), "evaluation")
    record = {
        "checkpoint": path.name,
        "step": checkpoint["global_step"],
        "scheme": config["scheme"],
        "corpus": {"name": corpus.name, "fingerprint": corpus.fingerprint},
        "evaluation": evaluation,
    }
    title = f"{config['scheme']['name']} at step {checkpoint['global_step']} on {corpus.name}"
    print_evaluation(evaluation, title)
    write_json(written, record)
    print(f"written to {written}")
    return record


@contextmanager
def its_plugins(
    path: Path, provenance: Mapping[str, Any], run_copied_plugin: bool
) -> Iterator[None]:
    """Use the plugin files that a checkpoint was trained with; warn of all else that changed.

    Raises `PluginError` where they are not at hand or not allowed.
    """
    record = recorded_plugins(provenance)["files"]
    with only(allowed_files(record, home_of(path), run_copied_plugin)):
        for change in changed_since(provenance):
            print(f"warning: {change}: the result may differ", file=sys.stderr)
        yield


def home_of(path: Path) -> Path:
    """The job's own directory, from that of its checkpoints or from a checkpoint."""
    home = path if path.is_dir() and not is_sharded(path) else path.parent
    return home.parent if home.name == LAST.parent.name else home


def load_model(config: Mapping[str, Any], checkpoint: Mapping[str, Any]) -> Transformer:
    """The transformer that a checkpoint's own config describes, or an extension, with its weights.

    Raises `ValueError` if `config` describes another scheme or model than the checkpoint holds: two
    pair layouts of RoPE have the same weights and different meanings.
    """
    recorded = checkpoint["posexp"]["config"]
    for section in ("model", "scheme", "span"):
        now, then = config[section], recorded[section]
        if section == "model":  # a kernel is how it is computed, not what
            now = now | {"kernel": then["kernel"]}
        if now != then and not (section == "scheme" and extends(now, then)):
            raise ValueError(f"the checkpoint was trained with {section}={then}, not {now}")
    model = make_model(config, record_of(checkpoint["posexp"])["vocabulary"])
    model.load_state_dict(model_weights(checkpoint))
    return model


def apply_overrides(config: Mapping[str, Any], overrides: Iterable[str]) -> dict[str, Any]:
    """A copy of `config` with `section.key=value` applied to the sections that may change.

    `scheme=NAME scheme.key=value` puts a scheme in place that extends the trained one.
    """
    changed, overrides = copy.deepcopy(dict(config)), list(overrides)
    if scheme := [word for word in overrides if word.startswith(("scheme=", "scheme."))]:
        changed["scheme"] = extended(config["scheme"], scheme)
    for override in (word for word in overrides if word not in scheme):
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
    what = "masked targets" if "masked" in evaluation else "targets"
    table = Table(title=title, caption=f"bits per byte on the same {what} at every length")
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
    if "task" in evaluation:
        print_task(evaluation["task"])


def print_task(task: Mapping[str, Any]) -> None:
    """A row per length and distance: the accuracy and its 95 % interval."""
    about = f"{task['windows']} windows a row; chance {task['chance']:.3f}"
    table = Table(title=task["name"], caption=about)
    for column in ("length", "distance", "accuracy", "95 %"):
        table.add_column(column, justify="right")
    for row in task["rows"]:
        measured = row["accuracy"] is not None
        interval = f"{row['low']:.2f} to {row['high']:.2f}" if measured else ""
        place = str(row["length"]), str(row["distance"])
        table.add_row(*place, _shown(row, "accuracy"), interval)
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
