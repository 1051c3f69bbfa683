"""The contract of a model family: how checkpoints that others made become posexp's.

A family says what the fields of its config.json mean and from which tensors each parameter is made.
It reads no file and writes none: `posexp import-hf` does, and refuses what a family does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Weight:
    """A parameter made of tensors of the foreign checkpoint: `make(*tensors)` of the `sources`.

    Without `make` it is the one tensor as it stands. A `make` must work on tensors of any dtype,
    also without data (the device "meta"): that is how shapes are checked before anything is read.
    """

    source: str | tuple[str, ...]
    make: Callable[..., Tensor] | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the tensors, also of one."""
        return (self.source,) if isinstance(self.source, str) else self.source


@dataclass(frozen=True)
class Translation:
    """A foreign checkpoint in posexp's terms.

    model, scheme
        Those sections of a job's config. Settings of `model` that are left out have the defaults of
        `posexp.model.ModelConfig`; `vocabulary` is always given.
    context_length
        The length T that it was trained on, in tokens.
    bos
        The token that texts begin with, or None.
    weights
        Every parameter of the transformer, by its name there, and what it is made of.
    same
        Tensors that repeat another, if they are there at all: tied embeddings.
    window
        The number of keys, the token itself included, that every layer sees; None for all, and
        where the scheme has windows of its own.
    notes
        What one should know of this model, a sentence each.
    """

    model: Mapping[str, Any]
    scheme: Mapping[str, Any]
    context_length: int
    bos: int | None
    weights: Mapping[str, Weight]
    same: Mapping[str, str] = field(default_factory=dict)
    window: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FamilySpec:
    """What a plugin's `posexp_families` hook returns for each of its families.

    Together `config`, `only` and `ignored` are a table of all fields that the family's config.json
    can have. Others are listed in a warning, and refused where they are known to change a model.

    name
        The `model_type` in config.json.
    config
        A dataclass of the fields that are translated, each with the default that it has where
        config.json leaves it out.
    build
        From a config to its translation; raises `ValueError` for what posexp cannot compute.
    only
        Fields that must have one of these values: with another it would be another model.
    ignored
        Fields that change nothing but training, or how the library runs.
    aliases
        Other names that a field may have in config.json, and the one in `config` or `only`.
    renames
        (regular expression, replacement): what is done to names of tensors, in order, before
        `Translation.weights` looks for them. Checkpoints come with and without a prefix.
    ignored_weights
        Regular expressions of whole names of tensors that are no parameters of the model.
    nested
        The field of config.json that holds the text model's own fields, if it is not the whole.
    """

    name: str
    config: type
    build: Callable[[Any], Translation]
    only: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    renames: tuple[tuple[str, str], ...] = ()
    ignored_weights: tuple[str, ...] = ()
    nested: str | None = None
