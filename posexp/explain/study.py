"""A scheme to be explained: built, its layers told apart by what they do."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from posexp.catalogue.exhibit import Exhibit, spans
from posexp.catalogue.gallery import Gallery
from posexp.dims import AttentionDims
from posexp.explain.meeting import Meeting, standard_normal
from posexp.loading import told
from posexp.model import ModelConfig, Transformer
from posexp.model.init import stream
from posexp.registry import PluginError
from posexp.scheme import PositionScheme
from posexp.testing.subject import SPREAD, VOCABULARY, draw

#: Positions at which layers are compared, and matrices are drawn at most.
CELLS = 64


def bare_model(config: ModelConfig, scheme: PositionScheme) -> Transformer:
    """A transformer, its weights not drawn. Raises `ValueError` if it cannot serve the scheme."""
    return Transformer(config, scheme, VOCABULARY, scheme.dims.context_length)


@dataclass(frozen=True)
class Kind:
    """Layers that do the same: one of them stands for all."""

    number: int
    where: str


@dataclass(frozen=True, eq=False)
class Study:
    """One scheme of a page, as `label` names it. Facts and pictures take it and a `Kind`.

    `drawn` has the parameters that training starts with, or others where those do nothing (`note`
    says which): pictures show it. `moved` has every parameter away from its start: facts are
    measured with it, as a table of zeros would hide what a scheme can do.
    """

    label: str
    values: Mapping[str, Any]
    span: Mapping[str, int | None]
    config: ModelConfig
    exhibit: Exhibit
    drawn: PositionScheme
    note: str

    @classmethod
    def of(cls, label: str, config: Mapping[str, Any]) -> Study:
        """From the config of a job. Raises `PluginError` or `ValueError` if it cannot be used."""
        sizes = ModelConfig(**config["model"])
        dims = sizes.dims(config["trainer"]["context_length"])
        span = {key: config["span"].get(key) for key in ("window", "chunk")}
        exhibit = Exhibit.built(config["scheme"], dims, **span)
        with torch.device("meta"):  # an attention or a kernel that cannot serve it is told first
            bare_model(sizes, Exhibit.built(config["scheme"], dims, **span).scheme)
        gallery = Gallery.of(exhibit, CELLS)
        return cls(label, config["scheme"], span, sizes, exhibit, gallery.scheme, gallery.note)

    @property
    def dims(self) -> AttentionDims:
        """What the scheme was built for."""
        return self.exhibit.dims

    @property
    def trained_length(self) -> int:
        """T in tokens."""
        return self.dims.context_length

    def up_to(self, length: int) -> int:
        """`length`, or as far as the scheme goes."""
        limit = self.exhibit.scheme.max_length
        return length if limit is None else min(length, limit)

    @property
    def sample(self) -> torch.Tensor:
        """At most CELLS tokens up to T, half at the start and half at the end: near and far."""
        tokens = torch.arange(self.up_to(self.trained_length))
        if len(tokens) <= CELLS:
            return tokens
        return torch.cat((tokens[: CELLS // 2], tokens[-CELLS // 2 :]))

    def model(self, causal: bool | None = None) -> Transformer:
        """A transformer of the config, every weight drawn, with a scheme of its own as `moved`.

        Raises `ValueError` where the scheme cannot serve attention that is (not) causal.
        """
        causal = self.dims.causal if causal is None else causal
        config = dataclasses.replace(self.config, causal=causal)
        scheme = Exhibit.built(self.values, config.dims(self.trained_length), **self.span).scheme
        model = bare_model(config, scheme)
        draw(model, 0, SPREAD)
        return model.eval()

    @cached_property
    def moved(self) -> PositionScheme:
        """The scheme with every parameter moved away from where it starts."""
        return self.model().scheme

    @cached_property
    def kinds(self) -> list[Kind]:
        """The layers that differ in what they do when they are given the same parameters."""
        found: list[tuple[torch.Tensor, list[int]]] = []
        for number in range(self.dims.n_layers):
            print_of = self._fingerprint(number)
            for known, numbers in found:
                if torch.allclose(known, print_of, rtol=0, atol=1e-6, equal_nan=True):
                    numbers.append(number)
                    break
            else:
                found.append((print_of, [number]))
        if len(found) == 1:
            return [Kind(0, "every layer")]
        return [Kind(numbers[0], spans(numbers)) for _, numbers in found]

    def title(self, kind: Kind) -> str:
        """The label, and which layers, where they differ."""
        return self.label if len(self.kinds) == 1 else f"{self.label}, {kind.where}"

    def by_kind(self, describe: Callable[[Kind], str]) -> str:
        """`describe` of each kind of layer, headed by the layers where they differ."""
        texts = {kind.where: describe(kind) for kind in self.kinds}
        if len(set(texts.values())) == 1:
            return next(iter(texts.values()))
        return "; ".join(f"{where}: {text}" for where, text in texts.items())

    @torch.no_grad()
    def _fingerprint(self, number: int) -> torch.Tensor:
        layer = copy.deepcopy(self.moved.for_layer(number))
        for name, parameter in layer.named_parameters():
            generator = torch.Generator().manual_seed(stream(0, "fingerprint", name))
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
        positions = self.sample
        x = standard_normal(self.dims, 1, len(positions))
        try:
            meeting = Meeting.of(PositionScheme(dims=self.dims), layer, self.dims, *x, positions)
            return torch.cat((meeting.scores.flatten(), meeting.out.flatten()))
        except Exception as error:
            exhibit = self.exhibit
            raise PluginError(
                f"{exhibit.spec.name} ({exhibit.origin}) cannot be measured: {told(error)}; "
                f"posexp schemes check {exhibit.spec.name} says more"
            ) from error
