"""What is undefined, or was never trained, beyond the trained length."""

from __future__ import annotations

import torch

from posexp.explain.facts.fact import Fact
from posexp.explain.meeting import Meeting, standard_normal
from posexp.explain.pictures.ladder import turns, waves
from posexp.explain.pictures.waves import Waves
from posexp.explain.study import Kind, Study
from posexp.loading import told
from posexp.testing.checks.declarations import FURTHEST
from posexp.testing.compare import TOLERANCE

ABSOLUTE = frozenset({"embed", "transform_query", "transform_key"})


@torch.no_grad()
def defined(study: Study) -> Fact:
    """How many positions the scheme defines: asked for, and looked for by calling it."""
    limit, length = study.moved.max_length, study.trained_length
    if limit is None:
        reach = FURTHEST * length
        try:
            finite = _finite(study, reach)
        except Exception as error:
            return Fact(
                f"{reach:,} tokens raise {told(error)}", "any number",
                "it declares no max_length, and does not define so many",
            )  # fmt: skip
        return Fact(
            f"{reach:,} tokens give "
            + ("finite scores" if finite else "scores that are no number"),
            "any number",
            "" if finite else "it declares no max_length, and its scores are no number there",
        )
    declared = f"max_length = {limit:,}"
    acts = sorted(frozenset().union(*(study.moved.acts_on, *_layers_act_on(study))) & ABSOLUTE)
    if not acts:
        return Fact("it acts on no absolute position: the model refuses longer input", declared)
    positions = torch.arange(max(0, limit - 7), limit + 1)
    try:
        _scores(study, positions[:-1])
    except Exception as error:
        return Fact(
            f"position {limit - 1} raises {told(error)}", declared, "it defines fewer positions"
        )
    try:
        _scores(study, positions)
    except ValueError:
        return Fact(f"position {limit - 1:,} is the last: {limit:,} is refused", declared)
    except Exception as error:
        return Fact(f"position {limit:,} raises {told(error)}", declared)
    return Fact(
        f"position {limit:,} gives a result as well", declared, "it defines more than it declares"
    )


def _layers_act_on(study: Study) -> list[frozenset[str]]:
    return [study.moved.for_layer(kind.number).acts_on for kind in study.kinds]


def _finite(study: Study, length: int) -> bool:
    """Whether the last of `length` queries gets a number from every key, or does not see it."""
    scheme, dims = study.moved, study.dims
    positions = scheme.remap_positions(torch.arange(length))
    x = standard_normal(dims, 1, length)
    return all(
        not meeting.scores.isnan().any() and not meeting.scores.isposinf().any()
        for kind in study.kinds
        for meeting in [
            Meeting.of(scheme, scheme.for_layer(kind.number), dims, *x, positions, length - 1)
        ]
    )


def _scores(study: Study, positions: torch.Tensor) -> None:
    x = standard_normal(study.dims, 1, len(positions))
    for kind in study.kinds:
        layer = study.moved.for_layer(kind.number)
        Meeting.of(study.moved, layer, study.dims, *x, positions)


def saturation(study: Study) -> Fact:
    """From which distance on its functions of distance no longer change."""
    reach = FURTHEST * study.trained_length
    found = {kind: _saturates(study, kind, reach) for kind in study.kinds}

    def measured(kind: Kind) -> str:
        start = found[kind]
        if start is None:
            return "it has no function of distance"
        if start >= reach - 1:
            return f"never, up to {reach:,}"
        return f"distances from {start} on are one" if start else "all distances are one"

    def declared(kind: Kind) -> str:
        return f"saturates_at = {study.moved.for_layer(kind.number).saturates_at}"

    conflicts = []
    for kind in study.kinds:
        said, start = study.moved.for_layer(kind.number).saturates_at, found[kind]
        if said is not None and start is not None and start > said:
            conflicts.append(f"it declares saturates_at = {said}, and changes up to {start}")
    return Fact(study.by_kind(measured), study.by_kind(declared), "; ".join(conflicts))


@torch.no_grad()
def _saturates(study: Study, kind: Kind, reach: int) -> int | None:
    """The first distance that gives what all later ones give; None without such functions."""
    layer = study.moved.for_layer(kind.number)
    n = torch.arange(min(reach, layer.max_length or reach))
    forms = [(layer.distance_bias(n), -1), (layer.distance_keys(n), -2)]
    forms.append((layer.distance_values(n), -2))
    starts = []
    for value, axis in forms:
        if value is None:
            continue
        by_distance = value.movedim(axis, 0).flatten(1)
        off = (by_distance - by_distance[-1]).abs().amax(1) > TOLERANCE
        starts.append(int(off.nonzero().max()) + 1 if off.any() else 0)
    return max(starts, default=None)


def turns_completed(study: Study) -> Fact:
    """Which of its frequencies training never showed a whole turn of."""

    def measured(kind: Kind) -> str:
        found = waves(study, kind)
        if isinstance(found, Waves):
            return turns(found, study.trained_length)
        return f"it has no frequencies: {found.reason}"

    return Fact(study.by_kind(measured))
