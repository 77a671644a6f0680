"""A pruned model in its original shapes, with zero weights for removed heads: for tools that need these shapes."""

from __future__ import annotations

import copy
from typing import Any

import torch
from transformers import PreTrainedModel

from headcount.models.anatomy import read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.families.lookup import remember_proved


@takes_compiled
def zeroed(model: PreTrainedModel) -> PreTrainedModel:
    """A new model of the original shapes that computes what `model` does; removed heads have zero weights."""
    check_whole(model, "write it with zeros")
    config = copy.deepcopy(model.config)
    for name in ("headcount", "pruned_heads", "auto_map"):  # entries about the cut
        if name in config.__dict__:
            delattr(config, name)
    with torch.random.fork_rng(devices=[]):
        model_class: Any = type(model)
        whole: PreTrainedModel = model_class(config)
    dtypes = {name: tensor.dtype for name, tensor in (*model.named_parameters(), *model.named_buffers())}
    for name, tensor in (*whole.named_parameters(), *whole.named_buffers()):
        tensor.data = tensor.data.to(dtypes[name])
    if getattr(model, "generation_config", None) is not None:
        whole.generation_config = copy.deepcopy(model.generation_config)
    before = read_anatomy(model)
    remember_proved(whole, before.family)
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
                for source, destination in zip(block.slices(head), target.slices(head), strict=True):
                    if source.parameter in cut:
                        size = source.stop - source.start
                        values = kept[source.parameter].narrow(source.dim, source.start, size)
                        parameters[destination.parameter].narrow(destination.dim, destination.start, size).copy_(values)
    return whole.to(model.device).train(model.training)
