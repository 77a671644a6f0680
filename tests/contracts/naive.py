"""The plain way of doing what Headcount does: weights overwritten by hand, eager attention, one formula a function."""

from __future__ import annotations

import copy
import sys
from typing import Any
from unittest import mock

import torch
from torch import nn

import headcount as hc
from headcount.models.anatomy import read_anatomy
from tests.contracts.zoo import Case, run


def with_zero_columns(model: Any, heads: list[str]) -> Any:
    """A copy whose output projections have zeros in the heads' columns."""
    model = copy.deepcopy(model)
    anatomy = read_anatomy(model)
    parameters = dict(model.named_parameters())
    with torch.no_grad():
        for head in hc.HeadSet.of(heads, anatomy.layout):
            columns = list(anatomy.of(head).slices(head.head))[-1]
            parameters[columns.parameter].narrow(columns.dim, columns.start, columns.stop - columns.start).zero_()
    return model


def run_with_uniform_weights(model: Any, heads: list[str], batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The model's own eager code, with softmax replaced: the heads' rows are 1/n where the scores are not masked."""
    anatomy = read_anatomy(model)
    wanted = hc.HeadSet.of(heads, anatomy.layout).by_layer()
    calls: dict[nn.Module, int] = {}
    current: list[Any] = []

    def entering(module: nn.Module, *_: Any) -> None:
        use = calls.get(module, 0)
        calls[module] = use + 1
        block = next(one for one in anatomy if one.module is module and one.use == use)
        current.append((block.stack, block.layer))

    softmax = nn.functional.softmax

    def uniform(scores: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        weights = softmax(scores, *args, **kwargs)
        numbers = list(wanted.get(current[-1], ()))
        allowed = (scores > torch.finfo(scores.dtype).min / 4).to(weights.dtype)
        spread = allowed / allowed.sum(-1, keepdim=True).clamp(min=1)
        weights = weights.clone()
        weights[:, numbers] = spread[:, numbers]
        return weights

    modules = {block.module for block in anatomy}
    handles = [module.register_forward_pre_hook(entering) for module in modules]
    functional = sys.modules[type(next(iter(modules))).__module__].nn.functional
    with mock.patch.object(functional, "softmax", uniform):
        result = run(model, batch)
    for handle in handles:
        handle.remove()
    return result


def own_maps(model: Any, batch: dict[str, torch.Tensor]) -> dict[str, tuple[torch.Tensor, ...]]:
    """What the eager model returns with output_attentions=True, by stack: [example, head, query, key] a layer."""
    with torch.no_grad():
        result = model(**batch, output_attentions=True)
    if "decoder_input_ids" in batch:
        return {
            "encoder": result.encoder_attentions,
            "decoder": result.decoder_attentions,
            "cross": result.cross_attentions,
        }
    return {next(iter(read_anatomy(model).stacks)): result.attentions}


def real_queries(case: Case, stack: str, batch: dict[str, torch.Tensor]) -> Any:
    """An index [example, all heads, real queries] into maps [example, head, query, key]."""
    if case.kind == "vision" or (stack in ("decoder", "cross") and case.kind == "pair"):
        return slice(None)
    mask = batch["attention_mask"].bool()
    return mask[:, None, :].expand(-1, 4, -1)
