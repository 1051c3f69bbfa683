"""The scheme under examination, and small models with it.

B batch, T tokens, V vocabulary. Every call of `scheme` and `model` builds afresh, so that no check
inherits what another did.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from posexp.dims import AttentionDims
from posexp.model import ModelConfig, Transformer
from posexp.model.init import init_weights, stream
from posexp.model.kernels.choice import KERNELS
from posexp.registry import SchemeSpec, registry, scheme_config
from posexp.scheme import PositionScheme
from posexp.testing.check import known_check

#: Small, but with grouped key/value heads, and four layers for patterns such as LLLG.
DIMS = AttentionDims(d_model=32, n_heads=4, n_layers=4, context_length=24, n_kv_heads=2)
VOCABULARY = 29
#: How far every parameter of a scheme is moved from its initial value, which may be zero.
SPREAD = 0.2


@dataclasses.dataclass(frozen=True)
class Subject:
    """A scheme, its config, the dims that it is examined with, and the checks it may fail."""

    spec: SchemeSpec
    config: Any
    dims: AttentionDims = DIMS
    expected_failures: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, reason in self.expected_failures.items():
            known_check(name)
            if not (isinstance(reason, str) and reason.strip()):
                raise ValueError(f"{self.spec.name} is expected to fail {name}: say why, in words")
        if self.dims.context_length < DIMS.context_length:
            raise ValueError(
                f"the checks need dims with a context_length of at least {DIMS.context_length}, "
                f"got {self.dims.context_length}"
            )

    @classmethod
    def of(
        cls,
        scheme: str | Mapping[str, Any] | SchemeSpec,
        dims: AttentionDims | None = None,
        expected_failures: Mapping[str, str] | None = None,
    ) -> Subject:
        """From a name, a plain config `{name: rope, theta: 100}` or a spec with its defaults.

        `expected_failures` (check: reason) stand in place of those that the spec declares. Raises
        `PluginError` or `ValueError` where there is no such scheme, parameter or check.
        """
        if isinstance(scheme, SchemeSpec):
            spec, config = scheme, scheme.config()
        else:
            values = {"name": scheme} if isinstance(scheme, str) else scheme
            spec, config = registry().get(values["name"]), scheme_config(values)
        if expected_failures is None:
            expected_failures = spec.expected_failures
        return cls(spec, config, dims or DIMS, expected_failures)

    def scheme(self) -> PositionScheme:
        """The scheme with its parameters moved away from their initial values."""
        alone = nn.Module()
        alone.scheme = self.spec.build(self.config, self.dims)
        draw(alone, 0, SPREAD)
        return alone.eval().scheme

    def model(
        self,
        kernel: str = "auto",
        seed: int = 0,
        scheme: PositionScheme | None = None,
        spread: float = SPREAD,
    ) -> Transformer:
        """A transformer with this scheme, or another, in evaluation mode."""
        model = self.bare_model(kernel, scheme)
        draw(model, seed, spread)
        return model.eval()

    def bare_model(self, kernel: str = "auto", scheme: PositionScheme | None = None) -> Transformer:
        """The same without its weights drawn, also on the meta device."""
        dims = self.dims
        config = ModelConfig(
            n_layers=dims.n_layers,
            d_model=dims.d_model,
            n_heads=dims.n_heads,
            n_kv_heads=dims.n_kv_heads,
            d_ff=2 * dims.d_model,
            causal=dims.causal,
            kernel=kernel,
        )
        scheme = self.spec.build(self.config, dims) if scheme is None else scheme
        return Transformer(config, scheme, VOCABULARY, dims.context_length)

    def kernels(self) -> list[str]:
        """`auto`, and every kernel that may be asked for by name."""
        scheme, causal = self.spec.build(self.config, self.dims), self.dims.causal
        layers = [scheme.for_layer(layer) for layer in range(self.dims.n_layers)]
        legal = [
            name
            for name, kernel in KERNELS.items()
            if all(kernel.refusal(layer, causal, 0.0) is None for layer in layers)
        ]
        return ["auto", *legal]

    def tokens(self, batch: int, length: int, seed: int = 0) -> Tensor:
        """(B, T) token ids."""
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(VOCABULARY, (batch, length), generator=generator)

    def variant(self) -> Subject:
        """The same scheme configured differently: every number doubled, where that is legal."""
        config = self.config
        for field in dataclasses.fields(config):
            value = getattr(config, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            try:
                changed = dataclasses.replace(config, **{field.name: 2 * value})
                self.spec.build(changed, self.dims)
            except ValueError:
                continue
            config = changed
        return dataclasses.replace(self, config=config)


@torch.no_grad()
def draw(model: nn.Module, seed: int, spread: float) -> None:
    """Draw every weight of `model`, and move those of its `scheme` away from where they start."""
    init_weights(model, seed)
    for name, parameter in model.scheme.named_parameters():
        generator = torch.Generator().manual_seed(stream(seed, "spread", name))
        parameter += spread * torch.randn(parameter.shape, generator=generator)


@torch.no_grad()
def logits(model: Transformer, tokens: Tensor, **layout: Tensor | None) -> Tensor:
    """(B, T) -> (B, T, V), without gradients."""
    return model(tokens, **layout)
