"""`posexp import-hf PATH [--out DIR]`: a checkpoint in the Hugging Face format as a posexp run."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from posexp.family import FamilySpec, Translation
from posexp.files import read_json
from posexp.importing.fields import find_family, read_fields
from posexp.importing.run import job_config, write_run
from posexp.importing.tensors import find_tensors
from posexp.importing.tokenizer import ImportedTokenizer
from posexp.importing.weights import check_weights, read_weights
from posexp.model import Transformer
from posexp.registry import family_registry
from posexp.training.build import count_parameters, make_model
from posexp.training.provenance import make_provenance


def import_hf(path: Path, out: Path | None = None, context_length: int | None = None) -> Path:
    """Translate the checkpoint in the directory `path` into the run `out`, and say what it became.

    `out` is runs/NAME by default, NAME being that of `path`. `context_length` takes the place of
    the length that config.json names as trained. Everything is checked before anything is written.
    Raises `ValueError` for what cannot be translated, with the reason, and `FileExistsError` if
    `out` exists.
    """
    out = Path("runs") / path.resolve().name if out is None else out
    if out.exists():
        raise FileExistsError(f"{out} exists; choose another directory with --out")
    fields = _read_config(path)
    with _named(path):
        spec = find_family(fields)
        known = read_fields(spec, fields)
        translation: Translation = spec.build(known.values)
        config = job_config(translation, context_length)
        vocabulary = config["model"]["vocabulary"]
        tokenizer = ImportedTokenizer.find(path, translation.bos, vocabulary)
        config["data"] |= tokenizer.settings(out)
        stored = find_tensors(path, spec.renames)
        with torch.device("meta"):
            model = make_model(config, tokenizer.record["vocabulary"])
        check_weights(spec, translation, stored, model)
        weights = read_weights(translation, stored)
    provenance = make_provenance(config, None) | {
        "tokenizer": tokenizer.record,
        "imported": _record(spec, path, known.values, known.unknown, translation),
    }
    write_run(out, provenance, weights, tokenizer.files)
    _tell(spec, translation, known.unknown, tokenizer, model)
    then = f"; next: posexp eval {out}, posexp generate {out} --prompt ..."
    print(f"written to {out}{then if tokenizer.is_known else ''}")
    return out


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise ValueError(
            f"there is no directory {path}: download the checkpoint first, with its config.json"
        )
    config = read_json(path / "config.json")
    if config is None:
        raise ValueError(f"{path} has no config.json: it is no checkpoint in this format")
    return config


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _record(
    spec: FamilySpec,
    path: Path,
    values: Any,
    unknown: tuple[str, ...],
    translation: Translation,
) -> dict[str, Any]:
    """What is kept with every copy of the weights: where they are from, and what was made of it."""
    origin = family_registry().origins(spec.name)[0]
    return {
        "family": spec.name,
        "plugin": {"distribution": origin.distribution, "version": origin.version},
        "name": path.resolve().name,
        "fields": dataclasses.asdict(values),
        "unknown_fields": list(unknown),
        "notes": list(translation.notes),
    }


def _tell(
    spec: FamilySpec,
    translation: Translation,
    unknown: tuple[str, ...],
    tokenizer: ImportedTokenizer,
    model: Transformer,
) -> None:
    kernels = ", ".join(dict.fromkeys(kernel.name for kernel in model.kernels_on("cpu")))
    print(
        f"{spec.name}: {count_parameters(model):,} parameters, {model.dims.n_layers} layers of "
        f"{model.dims.n_heads} heads on {model.dims.n_kv_heads}; kernels {kernels}"
    )
    print(" ".join(["scheme:", translation.scheme["name"], *_words(translation.scheme)]))
    print(f"context length {model.dims.context_length}; {tokenizer.told}")
    for note in translation.notes:
        print(f"note: {note}")
    if unknown:
        print(
            f"warning: config.json has fields that this family does not know: "
            f"{', '.join(unknown)}; if one of them changes the model, so does leaving it out",
            file=sys.stderr,
        )


def _words(scheme: Mapping[str, Any], prefix: str = "") -> list[str]:
    """A scheme's settings as words of a command: `factor=8.0`, `local.name=...`."""
    words = []
    for key, value in scheme.items():
        if isinstance(value, Mapping):
            words += _words(value, f"{key}.")
        elif prefix or key != "name":
            words.append(f"{prefix}{key}={'null' if value is None else value}")
    return words
