"""The fingerprint of a model's weights, and the origin of a result: its models, data and device."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from transformers import PreTrainedModel

from headcount.core.provenance import Origin, fingerprint
from headcount.errors import UnknownFamily
from headcount.models.anatomy import read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import input_device, is_dispatched, spell_devices, stored_tensors
from headcount.zoo.bundled import spell_model

SAMPLE = 4096


@takes_compiled
def model_fingerprint(model: PreTrainedModel) -> str:
    """A digest of class, dtype, shapes and weights; of a tensor, about 4,096 evenly spaced entries are read."""
    parts: list[object] = [type(model).__name__, str(model.dtype)]
    for name, tensor in stored_tensors(model):
        flat = tensor.detach().flatten()
        step = max(1, len(flat) // SAMPLE)
        parts += [name, list(tensor.shape), flat[::step].double().cpu().numpy().tobytes()]
    return fingerprint(parts)


@takes_compiled
def model_name(model: PreTrainedModel) -> str:
    """The path or hub name that the model was loaded from, else its class."""
    return spell_model(str(getattr(model.config, "_name_or_path", ""))) or type(model).__name__


@takes_compiled
def device_label(model: PreTrainedModel) -> str:
    """The name of the model's GPU, or the type of its device; with a device map, the devices that it names too."""
    device = input_device(model)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return f"{name} ({spell_devices(model)})" if is_dispatched(model) else name


def find_origin(
    model: PreTrainedModel | Mapping[str, PreTrainedModel], data: str, seed: int, other: PreTrainedModel | None = None
) -> Origin:
    """The origin of a result of one model, of it and the `other` that it is compared with, or of several by name.

    `data` is the fingerprint of the texts.
    """
    if isinstance(model, Mapping):
        fingerprints = {name: model_fingerprint(each) for name, each in model.items()}
        device = device_label(next(iter(model.values())))
        return Origin({"models": fingerprints, "data": data, "seed": seed}, {"device": device})
    dtype = str(model.dtype).removeprefix("torch.")
    identity = {"model": model_fingerprint(model), "data": data, "seed": seed, "dtype": dtype}
    names: dict[str, object] = {"model": model_name(model), "model_class": type(model).__name__}
    names |= {"device": device_label(model), **shared_keys(model)}
    if other is not None:
        second = {"other": model_fingerprint(other)}
        return Origin(identity | second, names | second | {"other_model": model_name(other)})
    return Origin(identity, names)


@takes_compiled
def shared_keys(model: PreTrainedModel) -> dict[str, dict[str, int]]:
    """`heads_per_key`, by stack: how many heads in a row read the same key and value, where it is more than one.

    Of a model that was cut nothing is said: its groups may differ in size.
    """
    if getattr(model.config, "headcount", None):
        return {}
    try:
        stacks = read_anatomy(model).stacks
    except UnknownFamily:
        return {}
    sizes = {stack: {block.count // max(1, block.kv_heads) for block in blocks} for stack, blocks in stacks.items()}
    shared = {stack: size.pop() for stack, size in sizes.items() if len(size) == 1 and max(size) > 1}
    return {"heads_per_key": shared} if shared else {}
