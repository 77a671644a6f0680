"""Where do a model's numbers stop being numbers? The first layer of a pass whose output is NaN or infinite."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import NotFinite
from headcount.models.anatomy import Anatomy

HALF = (torch.float16, torch.bfloat16)


class NotFiniteRow(NotFinite):
    """A row of a batch for which a model gave something that is not finite; who knows the row's name says more."""

    def __init__(self, model: PreTrainedModel, row: int, what: str) -> None:
        super().__init__(f"{what} not finite for row {row} of a batch")
        self.model, self.row, self.what = model, row, what


def refuse_rows(model: PreTrainedModel, bad: Sequence[Tensor], what: str) -> None:
    """An error where one of the flags [row] is set: the device is asked once, for all layers of a pass."""
    rows = torch.stack([flags.to(bad[0].device) for flags in bad]).any(0).nonzero() if bad else torch.empty(0)
    if len(rows):
        raise NotFiniteRow(model, int(rows[0]), what)


def not_finite(model: PreTrainedModel, anatomy: Anatomy, inputs: Mapping[str, Any], row: Any, what: str) -> NotFinite:
    """The error for one example (`row` of the data, alone in `inputs`) whose `what` is not finite.

    >>> from transformers import BertConfig, BertModel
    >>> from headcount.models.anatomy import read_anatomy
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9)).eval()
    >>> _ = model.encoder.layer[1].output.LayerNorm.weight.data.fill_(float("inf"))
    >>> str(not_finite(model, read_anatomy(model), {"input_ids": torch.tensor([[1, 2]])}, 7, "the scores are"))[:44]
    'row 7: the scores are not finite, from L1 on'
    """
    where = first_not_finite(model, anatomy, inputs)
    dtype = str(model.dtype).removeprefix("torch.")
    remedy = (
        f"{dtype} is too small for this model: give dtype=float32, and another name= or folder if a study is begun"
        if model.dtype in HALF
        else "leave the row out, or use another checkpoint"
    )
    return NotFinite(f"row {row}: {what} not finite{'' if where is None else f', {where}'} ({dtype}); {remedy}")


def first_not_finite(model: PreTrainedModel, anatomy: Anatomy, inputs: Mapping[str, Any]) -> str | None:
    """Where the numbers of a pass first are not finite, in words; None where all layers are fine."""
    places: dict[nn.Module, list[str]] = {}
    for stack in ("encoder", "decoder"):
        for block in anatomy.stacks.get(stack, ()):
            places.setdefault(block.layer_module, []).append(anatomy.layout.spell_layer(stack, block.layer))
    mask = inputs.get("attention_mask")
    real = None if mask is None else torch.as_tensor(mask).bool().flatten(0, -2)
    found: list[str] = []
    uses = dict.fromkeys(places, 0)
    mine = threading.get_ident()  # passes of other threads meet the hooks too

    def is_bad(given: Any) -> bool:
        tensor = given[0] if isinstance(given, tuple) and given else given
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            return False
        bad = ~tensor.isfinite()
        if real is not None and bad.shape[:2] == real.shape:
            bad = bad[real.to(bad.device)]  # padding may be anything
        return bool(bad.any())

    def before(module: nn.Module, args: Any) -> None:
        if threading.get_ident() == mine and not found and is_bad(args):
            found.append(f"from the embeddings before {places[module][0]} on")

    def after(module: nn.Module, args: Any, output: Any) -> None:
        if threading.get_ident() != mine:
            return
        place = places[module][min(uses[module], len(places[module]) - 1)]
        uses[module] += 1
        if not found and is_bad(output):
            found.append(f"from {place} on")

    with ExitStack() as hooks, torch.no_grad():
        for module in places:
            hooks.callback(module.register_forward_pre_hook(before).remove)
            hooks.callback(module.register_forward_hook(after).remove)
        result = model(**inputs)
    if found:
        return found[0]
    first = next((value for value in result.values() if isinstance(value, Tensor)), None)
    return "behind the last layer" if first is not None and is_bad(first) else None
