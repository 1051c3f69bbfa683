"""The state dict of a transformer out of a foreign checkpoint, checked before anything is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from posexp.family import FamilySpec, Translation, Weight
from posexp.importing.tensors import Stored
from posexp.model import Transformer
from posexp.registry import nearest


def check_weights(
    spec: FamilySpec,
    translation: Translation,
    stored: Mapping[str, Stored],
    model: Transformer,
) -> None:
    """Raise `ValueError` unless the tensors make exactly the parameters of `model`, in shape too.

    `model` may be on the device "meta". No tensor is read, and none is left over: what a family has
    no place for, such as an attention sink or the scale of a quantised matrix, changes the model.
    """
    weights = translation.weights
    used = {name for weight in weights.values() for name in weight.sources}
    known = used | translation.same.keys()
    for name in sorted(used - stored.keys()):
        raise ValueError(f"there is no tensor {name}{nearest(name, stored.keys() - known)}")
    for name in sorted(stored.keys() - known):
        if not any(re.fullmatch(pattern, name) for pattern in spec.ignored_weights):
            raise ValueError(
                f"the tensor {name} {stored[name].shape} has no place in a {spec.name} model with "
                "these settings: posexp would leave out a part of it"
            )
    for name in sorted(known & stored.keys()):
        if not stored[name].is_weight:
            raise ValueError(
                f"{name} has the dtype {stored[name].dtype}: quantised weights are not supported; "
                "import the checkpoint they were made from"
            )
    _check_shapes(translation, stored, model)


def _check_shapes(
    translation: Translation, stored: Mapping[str, Stored], model: Transformer
) -> None:
    wanted = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if difference := wanted.keys() ^ translation.weights.keys():
        raise ValueError(f"the family and the model disagree about {', '.join(sorted(difference))}")
    for name, weight in translation.weights.items():
        told = ", ".join(f"{source} {stored[source].shape}" for source in weight.sources)
        try:
            shape = tuple(_made(weight, [stored[n].meta for n in weight.sources]).shape)
        except RuntimeError as error:
            raise ValueError(f"{told} does not divide as {name} is made: {error}") from error
        if shape != wanted[name]:
            raise ValueError(
                f"{told} gives {name} the shape {shape}, and config.json {wanted[name]}"
            )


def read_weights(translation: Translation, stored: Mapping[str, Stored]) -> dict[str, Tensor]:
    """Every parameter by its name, in the precision in which it came unless it was changed.

    Raises `ValueError` where a tensor that should repeat another does not.
    """
    for copy, original in translation.same.items():
        if copy in stored and not torch.equal(stored[copy].read(), stored[original].read()):
            raise ValueError(
                f"{copy} and {original} differ, but tie_word_embeddings says that they are one"
            )
    return {
        # A part of a tensor would be saved with the whole of it.
        name: _made(weight, [stored[n].read() for n in weight.sources]).clone(
            memory_format=torch.contiguous_format
        )
        for name, weight in translation.weights.items()
    }


def _made(weight: Weight, tensors: Iterable[Tensor]) -> Tensor:
    make = weight.make
    return next(iter(tensors)) if make is None else make(*tensors)
