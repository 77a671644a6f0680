"""A pruned model in the shapes of the whole one, with zeros where heads are gone: for tools that need these shapes."""

from __future__ import annotations

import copy
from typing import Any

import torch
from transformers import PreTrainedModel

from headcount.models.anatomy import read_anatomy, remember
from headcount.models.compiled import takes_compiled


@takes_compiled
def zeroed(model: PreTrainedModel) -> PreTrainedModel:
    """A new model of the family's own shapes that computes what `model` does; heads that are gone have zero weights."""
    config = copy.deepcopy(model.config)
    for name in ("headcount", "pruned_heads", "auto_map"):  # what speaks of the cut
        if name in config.__dict__:
            delattr(config, name)
    with torch.random.fork_rng(devices=[]):
        kind: Any = type(model)
        whole: PreTrainedModel = kind(config)
    types = {name: tensor.dtype for name, tensor in (*model.named_parameters(), *model.named_buffers())}
    for name, tensor in (*whole.named_parameters(), *whole.named_buffers()):
        tensor.data = tensor.data.to(types[name])
    if getattr(model, "generation_config", None) is not None:
        whole.generation_config = copy.deepcopy(model.generation_config)
    before = read_anatomy(model)
    remember(whole, before.family)
    after = read_anatomy(whole)
    mine, theirs = model.state_dict(), whole.state_dict()
    cut = {name for name, tensor in mine.items() if tensor.shape != theirs[name].shape}
    whole.load_state_dict({name: tensor for name, tensor in mine.items() if name not in cut}, strict=False)
    parameters, kept = dict(whole.named_parameters()), dict(model.named_parameters())
    with torch.no_grad():
        for name in cut:
            parameters[name].zero_()
        for block in before:
            target = after.attention(block.stack, block.layer)
            for head in block.heads:
                for source, place in zip(block.slices(head), target.slices(head), strict=True):
                    if source.parameter in cut:
                        size = source.stop - source.start
                        values = kept[source.parameter].narrow(source.dim, source.start, size)
                        parameters[place.parameter].narrow(place.dim, place.start, size).copy_(values)
    return whole.to(model.device).train(model.training)
