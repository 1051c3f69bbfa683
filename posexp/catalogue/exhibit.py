"""A scheme built for showing, with everything that a section of its page may want to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from torch import nn

from posexp.catalogue.settings import model_of, settings
from posexp.compose import with_span
from posexp.dims import AttentionDims
from posexp.loading import told
from posexp.model.config import ModelConfig
from posexp.model.init import init_weights
from posexp.registry import Origin, PluginError, SchemeSpec, registry, scheme_config
from posexp.scheme import PositionScheme


@dataclass(frozen=True)
class Exhibit:
    """A scheme with its parameters as training starts from them with seed 0."""

    spec: SchemeSpec
    config: Any
    dims: AttentionDims
    origin: Origin
    scheme: PositionScheme
    #: The model around it, where it is another than one of these dims with softmax attention.
    other_model: ModelConfig | None = None

    @classmethod
    def of(
        cls, name: str, words: Sequence[str], dims: AttentionDims, model: ModelConfig | None = None
    ) -> Exhibit:
        """The scheme `name` with the parameters that `words` (key=value) set.

        Raises `PluginError` if the scheme cannot be used, `ValueError` for a bad parameter or for
        dims that it cannot serve.
        """
        return replace(cls.built(settings(name, words), dims), other_model=model)

    @classmethod
    def built(
        cls,
        values: Mapping[str, Any],
        dims: AttentionDims,
        window: int | None = None,
        chunk: int | None = None,
    ) -> Exhibit:
        """The scheme of a plain config `{name: ..., parameter: value}`, and the span it is seen in.

        Raises as `of` does.
        """
        name = values["name"]
        spec = registry().get(name)
        (origin,) = registry().origins(name)
        config = scheme_config(values)
        try:
            scheme = with_span(spec.build(config, dims), window, chunk)
            init_weights(_OnlyScheme(scheme), seed=0)
        except ValueError:
            raise
        except Exception as error:
            raise PluginError(f"{name} ({origin}) cannot be built: {told(error)}") from error
        return cls(spec, config, dims, origin, scheme)

    @property
    def model(self) -> ModelConfig:
        """The model that it stands in."""
        return self.other_model or model_of(self.dims)

    @cached_property
    def layers(self) -> list[PositionScheme]:
        """The scheme of each layer."""
        return [self.scheme.for_layer(layer) for layer in range(self.dims.n_layers)]

    def by_layer(self, describe: Callable[[PositionScheme], str]) -> list[str]:
        """`describe` of each layer: once where all agree, else headed by those layers that do."""
        found: dict[str, list[int]] = {}
        for number, layer in enumerate(self.layers):
            found.setdefault(describe(layer), []).append(number)
        if len(found) == 1:
            return list(found)
        return [f"{spans(numbers)}: {text}" for text, numbers in found.items()]


class _OnlyScheme(nn.Module):
    """What `init_weights` asks of a model, without the model: names decide the numbers."""

    def __init__(self, scheme: PositionScheme) -> None:
        super().__init__()
        self.scheme = scheme


def spans(numbers: Sequence[int]) -> str:
    """`[0, 1, 2, 4]` as `layers 0-2, 4`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"layer{'s' if len(numbers) > 1 else ''} {', '.join(shown)}"
