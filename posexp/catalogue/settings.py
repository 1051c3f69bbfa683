"""A scheme's parameters, and those of a model around it, from the words of a command."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from omegaconf import OmegaConf
from yaml import YAMLError

from posexp.dims import AttentionDims
from posexp.model.config import ModelConfig
from posexp.registry import typed_config

OF_MODEL = "model."


def settings(name: str, words: Sequence[str]) -> dict[str, Any]:
    """`theta=100 local.name=x` as `{name: ..., theta: 100, local: {name: x}}`.

    The words may begin with `scheme.`, as in `posexp train`. Raises `ValueError` for one that is
    no key=value.
    """
    words = [word.removeprefix("scheme.") for word in words]
    for word in words:
        key, equals, _ = word.partition("=")
        if not (key and equals):
            raise ValueError(f"{word!r} is no parameter: write key=value")
        if key == "name":
            raise ValueError(f"{word} would be another scheme: give its name in place of {name!r}")
    try:
        given = OmegaConf.to_container(OmegaConf.from_dotlist(words))
    except YAMLError as error:
        raise ValueError(f"{' '.join(words)} cannot be read: {str(error).split()[0]}") from error
    return {"name": name, **given}


def model_of(dims: AttentionDims, words: Sequence[str] = ()) -> ModelConfig:
    """The model of these dims, with what `words` (`model.key=value`) set.

    Raises `ValueError` for an unknown setting, or one that cannot work.
    """
    derived = dims.d_head * dims.n_heads == dims.d_model
    sizes = {
        "n_layers": dims.n_layers,
        "d_model": dims.d_model,
        "n_heads": dims.n_heads,
        "n_kv_heads": None if dims.n_kv_heads == dims.n_heads else dims.n_kv_heads,
        "d_head": None if derived else dims.d_head,
        "causal": dims.causal,
    }
    given = settings("model", [word.removeprefix(OF_MODEL) for word in words])
    return typed_config(SimpleNamespace(name="model", config=ModelConfig), {**sizes, **given})
