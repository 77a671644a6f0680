"""The plain way of doing what Headcount does: weights overwritten by hand, eager attention, one formula a function."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

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
            columns = list(anatomy.attention(head.stack, head.layer).slices(head.head))[-1]
            parameters[columns.parameter].narrow(columns.dim, columns.start, columns.stop - columns.start).zero_()
    return model


@contextmanager
def changed_weights(model: Any, change: Callable[[tuple[str, int], Tensor, Tensor], None]) -> Iterator[None]:
    """The model's own eager code, with softmax replaced: `change` gets (stack, layer), the weights and the scores."""
    anatomy = read_anatomy(model)
    calls: dict[nn.Module, int] = {}
    current: list[Any] = []

    def entering(module: nn.Module, *_: Any) -> None:
        use = calls.get(module, 0)
        calls[module] = use + 1
        block = next(one for one in anatomy if one.module is module and one.use == use)
        current.append((block.stack, block.layer))

    softmax = nn.functional.softmax

    def changed(scores: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        weights = softmax(scores, *args, **kwargs).clone()
        change(current[-1], weights, scores)
        return weights

    modules = {block.module for block in anatomy}
    handles = [module.register_forward_pre_hook(entering) for module in modules]
    functional = sys.modules[type(next(iter(modules))).__module__].nn.functional
    try:
        with mock.patch.object(functional, "softmax", changed):
            yield
    finally:
        for handle in handles:
            handle.remove()


def run_with_uniform_weights(model: Any, heads: list[str], batch: dict[str, Tensor]) -> Tensor:
    """The heads' rows are 1/n where the scores are not masked."""
    wanted = hc.HeadSet.of(heads, read_anatomy(model).layout).by_layer()

    def uniform(place: tuple[str, int], weights: Tensor, scores: Tensor) -> None:
        numbers = list(wanted.get(place, ()))
        allowed = (scores > torch.finfo(scores.dtype).min / 4).to(weights.dtype)
        weights[:, numbers] = (allowed / allowed.sum(-1, keepdim=True).clamp(min=1))[:, numbers]

    with changed_weights(model, uniform):
        return run(model, batch)


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
