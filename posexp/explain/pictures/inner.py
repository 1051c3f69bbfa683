"""Inner products of the vectors added to the input, and the four terms of a score with them."""

from __future__ import annotations

import math

import numpy as np
import torch

from posexp.explain.meeting import standard_normal
from posexp.explain.pictures.distances import (
    DRAWS,
    at,
    by_distance,
    curve,
    distances,
    looking_back,
    reach,
    thinned,
)
from posexp.explain.pictures.picture import Absent, Curve, Picture, short
from posexp.explain.pictures.waves import added_vectors
from posexp.explain.study import Kind, Study
from posexp.testing.compare import NOISE

TERMS = ("q·k", "q·p(key)", "p(query)·k", "p(query)·p(key)")


def products(study: Study, kind: Kind) -> Picture | Absent:
    """p_m·p_n by distance m - n; the band is over places."""
    vectors = added_vectors(study, reach(study), torch.float32)
    if isinstance(vectors, Absent):
        return vectors
    found = curve("p·p", distances(study), _products(study, vectors))
    own, near, far = (at(found, n) for n in (0, 1, study.up_to(study.trained_length) // 2))
    text = f"{short(own)} with itself, {short(near)} with its neighbour, {short(far)} at half of T"
    if abs(near - far) <= 0.05 * max(abs(own), 1e-9):
        text += ": a neighbour is hardly closer than what is far"
    if found.low is None:
        text += ". It depends on distance alone"
    else:
        wide = np.nanmax(found.high - found.low)
        text += f". At one distance it differs by up to {short(wide)} with the place"
    return Picture(text + ".", [thinned(found)])


def terms(study: Study, kind: Kind) -> Picture | Absent:
    """(q + p_m)·(k + p_n) / sqrt(D), term by term: the root mean square at each distance."""
    split = four_terms(study)
    if isinstance(split, Absent):
        return split
    n = distances(study)
    curves, power = [], []
    for name, values in zip(TERMS, split, strict=True):
        square = curve(name, n, values.reshape(-1, len(n)) ** 2)
        curves.append(thinned(Curve(name, n, np.sqrt(square.y))))
        inside = (n >= 0) & (n < study.trained_length)
        power.append(float(np.nanmean(square.y[inside])))
    shares = [f"{name} {100 * p / sum(power):.0f}%" for name, p in zip(TERMS, power, strict=True)]
    places = split[3][:, :, (n >= 0) & (n < study.trained_length)]
    spread = np.nanmax(np.nanmax(places, 1) - np.nanmin(places, 1))
    alone = spread <= NOISE * max(1.0, np.nanmax(np.abs(places)))
    return Picture(
        f"Share of the mean square within T: {', '.join(shares)}. The two mixed terms know one of "
        f"the two places; only p·p knows both, and is "
        f"{'a' if alone else 'no'} function of distance alone. Tokens of the model here start "
        f"with an rms of {_token_scale(study):.2g} in place of 1.",
        curves,
    )


def four_terms(study: Study) -> list[np.ndarray] | Absent:
    """The terms of TERMS, (B, M, N) each, for standard normal q and k of the model's width."""
    vectors = added_vectors(study, reach(study), torch.float32)
    if isinstance(vectors, Absent):
        return vectors
    q, k = (x.double().numpy() for x in standard_normal(study.dims, DRAWS, len(vectors)))
    pairs = ((q, k), (q, vectors[None]), (vectors[None], k), (vectors[None], vectors[None]))
    scale = 1 / math.sqrt(study.dims.d_model)
    return [by_distance(study, _rows(study, scale * a, b)) for a, b in pairs]


def _products(study: Study, vectors: np.ndarray) -> np.ndarray:
    return by_distance(study, _rows(study, vectors, vectors))


def _rows(study: Study, a: np.ndarray, b: np.ndarray) -> list[torch.Tensor]:
    """Each of `looking_back` in a (..., T, D) with all of b that it may see: (..., S)."""
    rows = []
    for query in looking_back(study):
        stop = query + 1 if study.dims.causal else b.shape[-2]
        rows.append(torch.from_numpy((b[..., :stop, :] @ a[..., query, :, None])[..., 0]))
    return rows


def _token_scale(study: Study) -> float:
    """The deviation of the input of the first layer as training starts (`init_weights`)."""
    return study.config.input_scale * study.dims.d_model**-0.5 / 2
