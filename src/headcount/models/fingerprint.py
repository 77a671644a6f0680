"""A short name for a model's weights and shape, and where the numbers of a result come from."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from transformers import PreTrainedModel

from headcount.core.provenance import Origin, fingerprint
from headcount.models.compiled import takes_compiled
from headcount.zoo.bundled import spell_model

SAMPLE = 4096


@takes_compiled
def model_fingerprint(model: PreTrainedModel) -> str:
    """The same for the same class, shapes and weights; of each tensor at most 4,096 evenly spaced entries are read.

    The number type counts: a model in bfloat16 is another model than in float32.
    """
    parts: list[object] = [type(model).__name__, str(model.dtype)]
    for name, tensor in model.state_dict().items():
        flat = tensor.detach().flatten()
        step = max(1, len(flat) // SAMPLE)
        parts += [name, list(tensor.shape), flat[::step].double().cpu().numpy().tobytes()]
    return fingerprint(parts)


@takes_compiled
def model_name(model: PreTrainedModel) -> str:
    """What a person calls the model: the path or hub name that it came from, else its class."""
    return spell_model(str(getattr(model.config, "_name_or_path", ""))) or type(model).__name__


@takes_compiled
def device_label(model: PreTrainedModel) -> str:
    """What the model computes on, in words: the name of a GPU, or the kind of device."""
    return torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else model.device.type


def find_origin(
    model: PreTrainedModel | Mapping[str, PreTrainedModel], data: str, seed: int, other: PreTrainedModel | None = None
) -> Origin:
    """Where the numbers of a model come from, of it and another one that it is compared with, or of several by name.

    `data` is the fingerprint of the texts.
    """
    if isinstance(model, Mapping):
        marks = {name: model_fingerprint(each) for name, each in model.items()}
        device = device_label(next(iter(model.values())))
        return Origin({"models": marks, "data": data, "seed": seed}, {"device": device})
    dtype = str(model.dtype).removeprefix("torch.")
    identity = {"model": model_fingerprint(model), "data": data, "seed": seed, "dtype": dtype}
    names = {"model": model_name(model), "model_class": type(model).__name__, "device": device_label(model)}
    if other is not None:
        mark = {"other": model_fingerprint(other)}
        return Origin(identity | mark, names | mark | {"other_model": model_name(other)})
    return Origin(identity, names)
