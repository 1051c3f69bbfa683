"""Initial weights: each parameter from its own generator, keyed by (seed, its name).

So parameters that two schemes share start equal, whatever else either scheme owns.
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor, nn

from posexp.compose import Spanned
from posexp.model.transformer import Transformer
from posexp.scheme import PositionScheme


@torch.no_grad()
def init_weights(model: Transformer, seed: int) -> None:
    """Draw every parameter of `model` in place; also after `to_empty()` of a meta-device build.

    Embeddings have deviation 1/(2 sqrt(D)), so the scaled input of layer 0 has 1/2, a little less
    than a sinusoidal position vector (1/sqrt(2)). Linear layers are N(0, 1/fan_in); the two that
    write into the residual stream, N(0, 1/(2 n_layers fan_in)). Norms are 1, biases 0. A scheme
    draws its own parameters: `PositionScheme.init_parameter`.
    """
    schemes = [(n, m) for n, m in model.named_modules() if isinstance(m, PositionScheme)]
    spanned = isinstance(model.scheme, Spanned)
    for name, parameter in model.named_parameters():
        # Drawn on the CPU, so that every device starts from the same numbers.
        fresh = torch.empty(parameter.shape, dtype=torch.float32)
        # A span wraps the scheme, and wraps nothing else: its parameters keep their names.
        key = name.replace("scheme.schemes.0.", "scheme.", 1) if spanned else name
        generator = torch.Generator().manual_seed(stream(seed, "init", key))
        owners = [(n, m) for n, m in schemes if name.startswith(f"{n}.")]
        if owners:
            owner_name, owner = max(owners, key=lambda pair: len(pair[0]))
            owner.init_parameter(name.removeprefix(f"{owner_name}."), fresh, generator)
        else:
            _init_backbone(model, name, fresh, generator)
        parameter.copy_(fresh)


def _init_backbone(
    model: Transformer, name: str, parameter: Tensor, generator: torch.Generator
) -> None:
    module = model.get_submodule(name.rpartition(".")[0])
    if name.endswith("bias"):
        parameter.zero_()
    elif isinstance(module, nn.Embedding):
        parameter.normal_(0.0, module.embedding_dim**-0.5 / 2, generator=generator)
    elif isinstance(module, nn.Linear):
        deviation = module.in_features**-0.5
        if name.endswith((".out.weight", ".down.weight")):
            deviation /= (2 * len(model.blocks)) ** 0.5
        parameter.normal_(0.0, deviation, generator=generator)
    else:
        parameter.fill_(1.0)


def stream(*key: int | str) -> int:
    """A 63-bit seed for the random stream that `key` names: (seed, purpose, step, rank, ...)."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
