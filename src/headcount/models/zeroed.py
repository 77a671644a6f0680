"""A pruned model in its original shapes, with zero weights for what was removed: for tools that need these shapes."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from headcount.models.anatomy import read_anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.families.lookup import remember_proved
from headcount.models.feed_forward import FeedForward
from headcount.models.plain_weights import check_plain
from headcount.models.shrink import dim_of


@takes_compiled
def zeroed(model: PreTrainedModel) -> PreTrainedModel:
    """A new model of the original shapes that computes what `model` does; what was removed has zero weights."""
    check_whole(model, "write it with zeros")
    check_plain(model, "write it with zeros")
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
        for stack, blocks in before.feed_forwards.items():
            for feed_forward in blocks:
                _spread_units(feed_forward, after.feed_forward(stack, feed_forward.layer), cut, kept, parameters)
    return whole.to(model.device).train(model.training)


def _spread_units(
    source: FeedForward,
    target: FeedForward,
    cut: set[str],
    kept: dict[str, nn.Parameter],
    parameters: dict[str, nn.Parameter],
) -> None:
    """Copy the rows and columns of a block's units to where they were in the whole model."""
    halves, units = source.plan.halves, torch.tensor(source.units, dtype=torch.long)
    rows = torch.cat([units + half * target.count for half in range(halves)])
    places = [
        (f"{name}.{kind}", dim_of(module, "out") if kind == "weight" else 0, rows)
        for name, module in source.inputs
        for kind in ("weight", "bias")
    ]
    places.append((f"{source.output_name}.weight", dim_of(source.output, "in"), units))
    for name, dim, index in places:
        if name in cut:
            parameters[name].index_copy_(dim, index.to(parameters[name].device), kept[name].to(parameters[name].device))
