"""Frequencies, found by calling the scheme: of vectors added to the input, and of rotations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from posexp.catalogue.measure import unit_products
from posexp.explain.meeting import remapped
from posexp.explain.pictures.picture import Absent
from posexp.explain.study import Kind, Study
from posexp.scheme import PositionScheme

#: Angles a token that rounding could make out of nothing.
STILL = {torch.float64: 2e-7, torch.float32: 1e-6}
#: What the equation of a wave, or of a rotation repeated, may be off by, as a share.
MISFIT = 1e-3
#: What a wave must turn over all positions looked at, in rad.
LEAST_ANGLE = 0.01
#: Positions that a slow wave is followed over, at least and in trained lengths.
LEAST, LENGTHS = 512, 4


@dataclass(frozen=True)
class Waves:
    """Angles a token in rad, the fastest first (K,), of `columns` (two for a pair) each.

    `growth` is the factor of a pair's length a token, 1 for a rotation; `still` columns turn not.
    """

    angles: np.ndarray
    columns: np.ndarray
    growth: np.ndarray
    still: int

    @property
    def lengths(self) -> np.ndarray:
        """Wavelengths in tokens."""
        return 2 * math.pi / self.angles

    def unfinished(self, tokens: int) -> int:
        """How many of them turn less than once in `tokens`."""
        return int((self.lengths > tokens).sum())


def rotations(study: Study, kind: Kind) -> Waves | Absent:
    """The angles by which a query turns against a key, for each token between them.

    With E(n) the products of unit queries at n and unit keys at 0, and A = E(1) E(0)^-1: where
    E(n) = A^n E(0), the transform is one linear map repeated, and its eigenvalues are
    growth * exp(+- i angle), whatever the columns of a pair.
    """
    layer = study.drawn.for_layer(kind.number)
    if not layer.acts_on & {"transform_query", "transform_key"}:
        return Absent("it turns no queries or keys")
    with torch.no_grad():
        positions = remapped(study.drawn, study.up_to(min(24, study.trained_length)))
        products, dtype = _products(study, layer, positions)
        if not _is_linear(study, layer, positions):
            return Absent("its transform is not linear in q")
    if np.linalg.cond(products[0]) > 1e6:
        return Absent("at distance 0 it loses part of q·k")
    step = products[1] @ np.linalg.inv(products[0])
    for n in range(2, len(products)):
        expected = np.linalg.matrix_power(step, n) @ products[0]
        if np.abs(products[n] - expected).max() > MISFIT * np.abs(expected).max():
            return Absent("it is not one turn, repeated at every token")
    values = np.linalg.eigvals(step)
    turning = values[values.imag > STILL[dtype]]
    if not len(turning):
        return Absent("it turns nothing")
    order = np.argsort(-np.angle(turning))
    return Waves(
        np.angle(turning)[order],
        np.full(len(turning), 2),
        np.abs(turning)[order],
        len(values) - 2 * len(turning),
    )


def _products(
    study: Study, layer: PositionScheme, positions: torch.Tensor
) -> tuple[np.ndarray, torch.dtype]:
    """E (T, d, d), in float64, or in float32 where parameters or tables ask for it."""
    try:
        found, dtype = unit_products(layer, study.dims, positions, torch.float64), torch.float64
    except RuntimeError:
        found, dtype = unit_products(layer, study.dims, positions), torch.float32
    return found.double().numpy(), dtype


def _is_linear(study: Study, layer: PositionScheme, positions: torch.Tensor) -> bool:
    """Whether the transform of a sum is the sum of the transforms."""
    shape = (2, study.dims.n_heads, len(positions), study.dims.d_head)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    parts = layer.transform_query(x, positions).sum(0)
    whole = layer.transform_query(x.sum(0, keepdim=True), positions)[0]
    return bool((parts - whole).abs().max() <= MISFIT * whole.abs().max())


def added_waves(study: Study) -> Waves | Absent:
    """The frequencies of the columns of the vectors that are added to the input.

    A column f of one frequency w has f(p + s) + f(p - s) = 2 cos(s w) f(p), for every step s.
    """
    vectors = added_vectors(study, max(LEAST, LENGTHS * study.trained_length), torch.float64)
    if isinstance(vectors, Absent):
        return vectors
    columns = vectors.T[np.abs(vectors).max(0) > 0]
    if len(vectors) < 8:
        return Absent("it defines too few positions to see a wave")
    found = sorted((w for w in map(_angle, columns) if w is not None), reverse=True)
    if len(found) < 0.9 * len(columns):
        return Absent("what it adds is no wave: its columns have no frequency")
    angles: list[list[float]] = []
    for w in found:
        if angles and abs(w / angles[-1][0] - 1) < MISFIT:
            angles[-1].append(w)
        else:
            angles.append([w])
    return Waves(
        np.array([np.mean(group) for group in angles]),
        np.array([len(group) for group in angles]),
        np.ones(len(angles)),
        vectors.shape[1] - len(found),
    )


def _angle(f: np.ndarray) -> float | None:
    """The frequency of one column, or None where it is no wave."""
    step, w = 1, None
    while 4 * step <= len(f):
        middle, outer = f[step:-step], f[2 * step :] + f[: -2 * step]
        size = middle @ middle
        cosine = middle @ outer / (2 * size) if size else 2.0
        misfit = np.abs(outer - 2 * cosine * middle).max() / np.abs(f).max()
        if misfit > MISFIT or not -1 <= cosine < 1:
            break
        w = math.acos(cosine) / step
        # A small angle is lost in rounding: look again over a longer step.
        if w * step > 0.25:
            break
        step *= 2
    # Less is no wave but rounding of a straight line, which satisfies the equation with w = 0.
    return w if w is not None and w * len(f) > LEAST_ANGLE else None


def added_vectors(study: Study, length: int, dtype: torch.dtype) -> np.ndarray | Absent:
    """What is added to the input at the first `length` positions (T, D), whatever the input."""
    scheme = study.drawn
    if "embed" not in scheme.acts_on:
        return Absent("it adds nothing to the input")
    length = study.up_to(length)
    with torch.no_grad():
        positions = remapped(scheme, length)
        x = torch.zeros(1, length, study.dims.d_model, dtype=dtype)
        found = scheme.embed(x, positions)
        if not torch.allclose(scheme.embed(x + 1, positions) - 1, found, atol=1e-4):
            return Absent("what it adds depends on the input")
    return found[0].double().numpy()
