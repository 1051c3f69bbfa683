"""The tensors of a checkpoint in the Hugging Face format: one file or many, read one at a time."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from posexp.files import read_json

#: A file with all tensors, or with INDEX behind its name the index of many; the first found counts.
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
INDEX = ".index.json"
#: What the format calls the dtypes that weights can have; all else is kept for the message.
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


@dataclass(frozen=True)
class Stored:
    """A tensor in a file: what is known of it, and how to read it."""

    name: str
    file: Path
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], Tensor]

    @property
    def is_weight(self) -> bool:
        """Whether it holds floating-point numbers, as a model that is not quantised does."""
        return self.dtype in DTYPES.values()

    @property
    def meta(self) -> Tensor:
        """A tensor of its shape and dtype, without data."""
        return torch.empty(self.shape, dtype=getattr(torch, self.dtype), device="meta")


def find_tensors(directory: Path, renames: Iterable[tuple[str, str]] = ()) -> dict[str, Stored]:
    """Every tensor in a directory, by its name after `renames`; none is read.

    A rename is (regular expression, replacement), done in order. Raises `ValueError` for a
    directory without weights, for files that are missing, broken or hold code beside tensors, and
    where two tensors would have one name.
    """
    renames, found = tuple(renames), {}
    for path in _files(directory):
        for stored in _open(path):
            name = stored.name
            for pattern, replacement in renames:
                name = re.sub(pattern, replacement, name)
            if name in found:
                raise ValueError(
                    f"{found[name].name} in {found[name].file.name} and {stored.name} in "
                    f"{path.name} are the same tensor: the checkpoint holds it twice"
                )
            found[name] = stored
    return found


def _files(directory: Path) -> list[Path]:
    for name in (SAFE, PICKLED):
        if (directory / name).is_file():
            return [directory / name]
        if (index := read_json(directory / f"{name}{INDEX}")) is not None:
            # A name from elsewhere leads to no other directory.
            files = sorted({directory / Path(file).name for file in _map(index).values()})
            if missing := [file.name for file in files if not file.is_file()]:
                raise ValueError(
                    f"{directory} lacks {', '.join(missing)}, which {name}{INDEX} names: the "
                    "checkpoint is not whole"
                )
            return files
    beside = sorted(path.name for path in directory.iterdir())
    raise ValueError(
        f"{directory} has neither {SAFE} nor {PICKLED}, whole or in parts; it has "
        f"{', '.join(beside) or 'nothing'}"
    )


def _map(index: Mapping[str, Any]) -> Mapping[str, str]:
    return index.get("weight_map") or {}


def _open(path: Path) -> list[Stored]:
    try:
        return _safe(path) if path.suffix == ".safetensors" else _pickled(path)
    except ImportError as error:
        raise ValueError(f"{path} needs safetensors: pip install 'posexp[hf]'") from error
    except Exception as error:  # each library has its own
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} cannot be read: {type(error).__name__}: {reason}") from error


def _safe(path: Path) -> list[Stored]:
    from safetensors import safe_open

    file = safe_open(path, framework="pt")
    stored = []
    for name in file.keys():  # noqa: SIM118 (it is no mapping)
        part = file.get_slice(name)
        dtype = DTYPES.get(part.get_dtype(), part.get_dtype())
        read = partial(file.get_tensor, name)
        stored.append(Stored(name, path, tuple(part.get_shape()), dtype, read))
    return stored


def _pickled(path: Path) -> list[Stored]:
    # The format of before 2020 is no archive and cannot be mapped.
    mapped = zipfile.is_zipfile(path)
    tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    return [
        Stored(name, path, tuple(tensor.shape), _word(tensor.dtype), partial(tensors.get, name))
        for name, tensor in tensors.items()
    ]


def _word(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
