"""One scheme's attention as a function, for a model of your own.

    class MyAttention(nn.Module):
        def __init__(self):
            ...
            dims = AttentionDims(d_model=512, n_heads=8, context_length=1024)
            self.scheme = build_scheme({"name": "t5"}, dims)   # a module: its table trains with you

        def forward(self, x):
            q, k, v = ...                                      # your projections, by heads
            out = posexp.attend(q, k, v, scheme=self.scheme)

Shapes: B batch, T queries, S keys, H query heads, G key/value heads, d head width.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from posexp.dims import AttentionDims
from posexp.model.attention import attend as layer_attend
from posexp.model.kernels import kernel_for, legal_kernels
from posexp.model.layout import Layout
from posexp.registry import build_scheme
from posexp.scheme import PositionScheme


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scheme: PositionScheme | str | Mapping[str, Any],
    positions: Tensor | None = None,
    k_positions: Tensor | None = None,
    real_keys: Tensor | None = None,
    causal: bool = True,
    kernel: str = "auto",
    layer: int = 0,
    embedded: bool = False,
) -> Tensor:
    """softmax(q k^T / sqrt(d) + what `scheme` says) v, by the fastest legal kernel.

    q (B, H, T, d) and k, v (B, G, S, d), H a multiple of G, are projections as they come: they are
    scaled and transformed here. The result is (B, H, T, d). Causal queries are the last T of the S
    tokens.

    scheme
        A module, whose parameters are yours to register and train; or the name or the config
        (`{"name": "rope", "theta": 5e5}`) of one that has none, built for these shapes with S as
        its training length.
    positions, k_positions
        (T,) and (S,), or (B, T) and (B, S). None counts the (real) tokens from 0, which is what the
        fastest kernels need to know; others go the general way. Where a scheme has
        `remap_positions`, call it once for all layers and give the result.
    real_keys
        (B, S) bool, False = padding, which is on the left.
    layer
        Which layer's scheme, where layers differ.
    embedded
        Where a scheme has `embed`, call it on the input of the first layer, and say so here.

    Raises `ValueError` for shapes that do not fit, a scheme that would be half applied, parameters
    that nobody would train, and lengths that the scheme does not define; `IllegalKernelError` for a
    kernel that cannot serve it.
    """
    _check_shapes(q, k, v, real_keys)
    if not isinstance(scheme, PositionScheme):
        scheme = _without_parameters(scheme, q, k, causal, layer)
    _check_dims(scheme.dims, q, causal)
    name = type(scheme).__name__
    if "embed" in scheme.acts_on and not embedded:
        raise ValueError(
            f"{name} acts on the input of the first layer: x = scheme.embed(x, positions) there, "
            "once, and embedded=True here"
        )
    if "remap_positions" in scheme.acts_on and positions is None:
        raise ValueError(
            f"{name} has positions of its own: give positions=scheme.remap_positions(...), called "
            "once for all layers"
        )
    layout = _layout(q, k, positions, k_positions, real_keys, causal)
    if scheme.max_length is not None:
        length = int(layout.k_positions.max()) + 1
        if length > scheme.max_length:
            raise ValueError(f"{length} positions, and {name} defines {scheme.max_length}")
    part = scheme.for_layer(layer)
    chosen = kernel_for(layout, legal_kernels(kernel, part, causal, 0.0))
    with torch.autocast(q.device.type, enabled=False):
        prepared = chosen.prepare(part, layout)
    return layer_attend(q, k, v, part, layout, chosen, prepared)


def _layout(
    q: Tensor,
    k: Tensor,
    positions: Tensor | None,
    k_positions: Tensor | None,
    real_keys: Tensor | None,
    causal: bool,
) -> Layout:
    n_queries, n_keys = q.shape[2], k.shape[2]
    if positions is None and k_positions is None:
        keys = Layout.of_tokens(k[:, 0, :, 0], causal=causal, real=real_keys)
        return keys.tile(n_keys - n_queries, n_keys, 0, n_keys)
    if k_positions is None and n_queries == n_keys:
        k_positions = positions
    for name, given, n in (
        ("positions", positions, n_queries),
        ("k_positions", k_positions, n_keys),
    ):
        if given is None:
            raise ValueError(f"{n_queries} queries on {n_keys} keys: {name} are missing")
        if given.shape[-1] != n:
            raise ValueError(f"{name} {tuple(given.shape)} are not one for each of {n} tokens")
    return Layout(positions, k_positions, causal, real_keys, consecutive=False)


def _check_shapes(q: Tensor, k: Tensor, v: Tensor, real_keys: Tensor | None) -> None:
    fit = (
        q.ndim == k.ndim == v.ndim == 4
        and k.shape == v.shape
        and q.shape[0] == k.shape[0]
        and q.shape[1] % k.shape[1] == 0
        and q.shape[2] <= k.shape[2]
        and q.shape[3] == k.shape[3]
    )
    if not fit:
        raise ValueError(
            f"q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} are not (B, H, T, d) "
            "and twice (B, G, S, d) with H a multiple of G and T <= S"
        )
    if real_keys is not None and real_keys.shape != (k.shape[0], k.shape[2]):
        raise ValueError(
            f"real_keys {tuple(real_keys.shape)} is not (B, S) = {(k.shape[0], k.shape[2])}"
        )


def _check_dims(dims: AttentionDims | None, q: Tensor, causal: bool) -> None:
    if dims is None:
        return
    built, given = (
        f"{heads} heads of width {width}, {'causal' if is_causal else 'bidirectional'}"
        for heads, width, is_causal in (
            (dims.n_heads, dims.d_head, dims.causal),
            (q.shape[1], q.shape[3], causal),
        )
    )
    if built != given:
        raise ValueError(f"the scheme was built for {built}; it is called with {given}")


def _without_parameters(
    scheme: str | Mapping[str, Any], q: Tensor, k: Tensor, causal: bool, layer: int
) -> PositionScheme:
    dims = AttentionDims(
        d_model=q.shape[1] * q.shape[3],
        n_heads=q.shape[1],
        n_layers=layer + 1,
        context_length=k.shape[2],
        n_kv_heads=k.shape[1],
        causal=causal,
    )
    config = {"name": scheme} if isinstance(scheme, str) else scheme
    built = build_scheme(config, dims)
    if any(True for _ in built.parameters()):
        raise ValueError(
            f"{config['name']} has parameters of its own: build it once with "
            "posexp.build_scheme(config, dims), register it in your model, and pass the module"
        )
    return built
