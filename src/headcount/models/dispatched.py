"""Models that accelerate has spread over several devices, or keeps partly on the CPU or the disk (`device_map=`).

Accelerate replaces the `forward` of modules: each moves its inputs to its own device and, where weights are offloaded,
brings these there for the time of the call. Between calls offloaded weights are on the meta device, without values.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import HeadcountError, UnsuitableModel
from headcount.models.plain_weights import has_packed_products, plain_values, stored_parts


def input_device(model: Any) -> torch.device:
    """The device that inputs go to and results come back from: the model's own, or the one where accelerate runs it."""
    device: torch.device = model.device
    for module in model.modules() if device.type == "meta" else [model]:
        for hook in _hooks(module):
            if getattr(hook, "execution_device", None) is not None:
                return torch.device(hook.execution_device)
    return device


def is_dispatched(model: nn.Module) -> bool:
    """Whether the parts of the model run on several devices, or some weights are offloaded."""
    hooks = [hook for module in model.modules() for hook in _hooks(module)]
    devices = [device for hook in hooks if (device := getattr(hook, "execution_device", None)) is not None]
    return is_offloaded(model) or len(set(map(torch.device, devices))) > 1


def is_offloaded(model: nn.Module) -> bool:
    """Whether some weights are away from their device between calls."""
    return any(getattr(hook, "offload", False) for module in model.modules() for hook in _hooks(module))


def read_weight(module: nn.Module, name: str = "weight") -> Tensor:
    """A module's parameter or buffer as floats, not to be changed; an offloaded one as it is kept, on the CPU."""
    tensor: Tensor = getattr(module, name).detach()
    if not tensor.is_meta:
        return plain_values(tensor, type(module).__name__)
    for hook in _hooks(module):
        if getattr(hook, "offload", False) and name in hook.weights_map:
            kept: Tensor = hook.weights_map[name]
            return kept.detach().to(tensor.dtype)
    raise UnsuitableModel(
        f"{name} of {type(module).__name__} is on the meta device, without values; give a model with loaded weights"
    )


def stored_tensors(model: nn.Module, names: Collection[str] | None = None) -> Iterator[tuple[str, Tensor]]:
    """The entries of the model's `state_dict`, or those of some names, with the values of offloaded ones.

    A quantised weight that wraps several tensors is given as these.

    Only one offloaded tensor is in memory at a time.
    """
    for key, tensor in _entries(model):
        if names is not None and key not in names:
            continue
        if isinstance(tensor, Tensor) and tensor.is_meta:
            parent, _, name = key.rpartition(".")
            tensor = read_weight(model.get_submodule(parent), name)
        yield from stored_parts(key, tensor)


def _entries(model: nn.Module) -> Iterator[tuple[str, Any]]:
    """The entries of the model's `state_dict`, without leaving a trace in the model.

    Modules with packed weights may repack these when they are asked for them: bitsandbytes does on some CPUs, and
    computes something else from then on. Copies are asked instead, one at a time.
    """
    if not has_packed_products(model):
        yield from model.state_dict().items()
        return
    for place, module in model.named_modules():
        own: dict[str, Any] = {}
        source = copy.deepcopy(module) if isinstance(module, nn.Linear) and has_packed_products(module) else module
        source._save_to_state_dict(own, f"{place}." if place else "", False)
        yield from own.items()


def without_gradients(model: nn.Module) -> AbstractContextManager[Any]:
    """Inference mode, the quickest; not for offloaded weights, whose placeholders could never be trained afterwards."""
    return torch.no_grad() if is_offloaded(model) else torch.inference_mode()


def spell_devices(model: PreTrainedModel) -> str:
    """The devices of a dispatched model, as its map names them, such as `cuda:0, cpu, disk`."""
    devices = getattr(model, "hf_device_map", None) or {"": input_device(model)}
    names = [f"cuda:{device}" if isinstance(device, int) else str(device) for device in devices.values()]
    return ", ".join(dict.fromkeys(names))


def check_whole(model: nn.Module, purpose: str, error: type[HeadcountError] = UnsuitableModel) -> None:
    """Refuse a dispatched model where weights are changed, copied or counted; `purpose` completes "to ..."."""
    if isinstance(model, PreTrainedModel) and is_dispatched(model):
        raise error(
            f"the parts of {type(model).__name__} are dispatched to {spell_devices(model)} (device_map=); "
            f"load it whole, without device_map=, to {purpose}"
        )


def _hooks(module: Any) -> tuple[Any, ...]:
    """The hooks of accelerate on a module, which may have several."""
    hook = getattr(module, "_hf_hook", None)
    return () if hook is None else tuple(getattr(hook, "hooks", (hook,)))
