"""Where a result comes from: versions, plugin, corpus and the whole config."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from posexp.data.documents import Corpus
from posexp.data.masking import Masking
from posexp.data.recorded import record_of
from posexp.data.tokenizer import BYTES, check_tokenizer
from posexp.model import Transformer
from posexp.objective import Objective
from posexp.tracking.agent import run_of_agent
from posexp.training.build import count_parameters
from posexp.training.plugins import check_plugins, record_plugins, recorded_plugins

LIBRARIES = ("posexp", "torch", "pytorch-lightning", "hydra-core", "wandb")


def make_provenance(config: Mapping[str, Any], corpus: Corpus | None) -> dict[str, Any]:
    """Plain values only: it goes into JSON and into every checkpoint.

    `corpus` is None for weights that were not trained here.
    """
    name, tokenizer = config["scheme"]["name"], BYTES if corpus is None else corpus.tokenizer
    masking = Masking.of(config, tokenizer.bos, tokenizer.vocabulary)
    plugins = record_plugins([config])
    return {
        "config": config,
        "run_id": run_of_agent() or secrets.token_hex(4),
        "plugin": {"scheme": name, **plugins["scheme"][name]},
        "plugins": plugins,
        "corpus": corpus and {"name": corpus.name, "fingerprint": corpus.fingerprint},
        "tokenizer": tokenizer.record(),
        "mask_token": None if masking is None else masking.token,
        "versions": {library: version(library) for library in LIBRARIES},
    }


def check_corpus(provenance: Mapping[str, Any], corpus: Corpus) -> None:
    """Raise `ValueError` if `corpus` or its tokenizer is not the one that was trained on."""
    check_tokenizer(record_of(provenance), corpus.tokenizer, "the checkpoint")
    if provenance["corpus"] is None:  # not trained here
        return
    then = provenance["corpus"]["fingerprint"]
    if corpus.fingerprint != then:
        raise ValueError(
            f"the corpus {corpus.name} is not the one that this run was trained on: fingerprint "
            f"{corpus.fingerprint[:12]} now, {then[:12]} then"
        )


def changed_since(provenance: Mapping[str, Any]) -> list[str]:
    """What is of another version now, `torch was 2.9 and is 2.10`; plugins first.

    Raises `PluginError` if the scheme's plugin, or one inside it, or the task's, is gone, broken,
    offered twice or taken by another distribution.
    """
    changes = check_plugins(recorded_plugins(provenance))
    for library, then in provenance["versions"].items():
        try:
            now = version(library)
        except PackageNotFoundError:
            now = "gone"
        if now != then:
            changes.append(f"{library} was {then} and is {now}")
    return list(dict.fromkeys(changes))  # posexp is a plugin's distribution, too


def record_facts(
    config: Mapping[str, Any], provenance: Mapping[str, Any], model: Transformer, tokens_seen: int
) -> dict[str, Any]:
    """One flat row of everything that differs silently between papers."""
    kernels = list(dict.fromkeys(kernel.name for kernel in model.kernels))
    scales = dict.fromkeys(
        block.attention.logit_scale(model.config, model.scheme.for_layer(i))
        for i, block in enumerate(model.blocks)
    )
    facts = {
        "objective": Objective.of(config).name,
        "scheme": config["scheme"]["name"],
        "span": config["span"]["name"],
        "seed": config["seed"],
        "parameters": count_parameters(model),
        "scheme_parameters": count_parameters(model.scheme),
        "tokens_seen": tokens_seen,
        "context_length": model.dims.context_length,
        "n_heads": model.dims.n_heads,
        "n_kv_heads": model.dims.n_kv_heads,
        "logit_scale": next(iter(scales)) if len(scales) == 1 else " ".join(map(str, scales)),
        "embedding_scale": model.config.input_scale,
        # Residual and embedding dropout; it falls on token and position vectors alike.
        "dropout": model.config.dropout,
        "lr": config["optimizer"]["lr"],
        "lr_choice": "one value for every scheme, as configured",
        "precision": config["trainer"]["precision"],
        "kernel": " ".join(kernels),
        "bos": config["data"]["bos"],
        "tokenizer": record_of(provenance)["identity"],
        "corpus": provenance["corpus"]["name"],
        "corpus_fingerprint": provenance["corpus"]["fingerprint"],
        "plugin": f"{provenance['plugin']['distribution']} {provenance['plugin']['version']}",
    }
    facts |= {f"version.{k}": v for k, v in provenance["versions"].items()}
    return facts | flatten(config)


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as `model.n_layers`; a list becomes its JSON-like text."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{name}.")
        elif isinstance(value, list | tuple):
            flat[name] = " ".join(map(str, value))
        else:
            flat[name] = value
    # The sections' own top-level names would repeat the facts of the same name.
    return {k: v for k, v in flat.items() if k not in ("scheme", "span", "seed")}
