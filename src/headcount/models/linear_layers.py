"""The matrix products inside a model's layers: attention and feed-forward projections, where adapters can be put."""

from __future__ import annotations

from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headcount.models.anatomy import Anatomy


def linear_layers(model: PreTrainedModel, anatomy: Anatomy) -> list[str]:
    """The names of all plain projections inside the layers; those that a cut left without weights are no such."""
    layers = {f"{block.layer_name}." for stack in anatomy.stacks.values() for block in stack}
    return [
        name
        for name, module in model.named_modules()
        if type(module) in (nn.Linear, Conv1D) and any(name.startswith(layer) for layer in layers)
    ]


def transposed(model: PreTrainedModel, names: list[str]) -> bool:
    """Whether the weights of these projections are [in, out], as GPT-2's are, not [out, in]."""
    return any(isinstance(model.get_submodule(name), Conv1D) for name in names)
