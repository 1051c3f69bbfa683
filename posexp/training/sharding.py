"""FSDP2: the backbone's weights are sharded over the ranks, a scheme's stay whole on each.

FSDP2 gathers a module's weights when its `forward` is called. Schemes are called by method, so
theirs are left out; FSDP2 then does not see to their gradients, and that is done here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from posexp.model import Transformer
from posexp.scheme import PositionScheme


def shard(model: Transformer, mesh: DeviceMesh) -> None:
    """Shard each block, and what lies outside the blocks, over a mesh of one dimension."""
    if isinstance(model, FSDPModule):
        return
    schemes = (m for m in model.modules() if isinstance(m, PositionScheme))
    whole = {parameter for scheme in schemes for parameter in scheme.parameters()}
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh, ignored_params=whole)


def gather(model: Transformer) -> dict[str, Any]:
    """The whole state dict on the CPU of rank 0, and nothing on the others. Every rank calls it."""
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    return get_model_state_dict(model, options=options)


def by_kind(tensors: Iterable[Tensor]) -> list[list[Tensor]]:
    """The sharded tensors and the whole ones, without empty lists: no operation takes both."""
    kinds: tuple[list[Tensor], list[Tensor]] = ([], [])
    for tensor in tensors:
        kinds[not isinstance(tensor, DTensor)].append(tensor)
    return [kind for kind in kinds if kind]


def average_whole_gradients(model: nn.Module) -> None:
    """Give every rank the mean of the gradients that FSDP2 leaves alone, as it does for the rest.

    Under any other strategy there is nothing to do.
    """
    if not isinstance(model, FSDPModule):
        return
    for parameter in model.parameters():
        if not isinstance(parameter, DTensor) and parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


def clip_global_norm(model: nn.Module, limit: float) -> Tensor:
    """Scale the gradients down to a global norm of at most `limit`; gives the norm before.

    The norm is over the whole gradient, of which every shard counts once.
    """
    parameters = [p for p in model.parameters() if p.grad is not None]
    norms = [get_total_norm(kind) for kind in by_kind(p.grad for p in parameters)]
    norms = [norm.full_tensor() if isinstance(norm, DTensor) else norm for norm in norms]
    norm = norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms))
    for kind in by_kind(parameters):
        clip_grads_with_norm_(kind, limit, norm)
    return norm
