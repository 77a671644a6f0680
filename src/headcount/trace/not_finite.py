"""Find the first layer of a pass whose output is NaN or infinite, and word the error."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import NotFinite
from headcount.models.anatomy import Anatomy
from headcount.trace.hooks import hooked

HALF = (torch.float16, torch.bfloat16)


class NotFiniteRow(NotFinite):
    """A row of a batch for which something is not finite; callers that know the example's name raise `not_finite`."""

    def __init__(self, model: PreTrainedModel, row: int, subject: str) -> None:
        super().__init__(f"{subject} not finite for row {row} of a batch")
        self.model, self.row, self.subject = model, row, subject


def refuse_rows(model: PreTrainedModel, bad: Sequence[Tensor], subject: str) -> None:
    """An error where one of the flags [row] of the layers is set; one transfer from the device for all of them."""
    rows = torch.stack([flags.to(bad[0].device) for flags in bad]).any(0).nonzero() if bad else torch.empty(0)
    if len(rows):
        raise NotFiniteRow(model, int(rows[0]), subject)


def not_finite(
    model: PreTrainedModel, anatomy: Anatomy, inputs: Mapping[str, Any], row: Any, subject: str
) -> NotFinite:
    """The error for one example: `row` of the data, alone in `inputs`; `subject` begins its sentence.

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
    return NotFinite(f"row {row}: {subject} not finite{'' if where is None else f', {where}'} ({dtype}); {remedy}")


def first_not_finite(model: PreTrainedModel, anatomy: Anatomy, inputs: Mapping[str, Any]) -> str | None:
    """Where the numbers of a pass first are not finite, in words; None where all of them are finite."""
    names: dict[nn.Module, list[str]] = {}
    for stack in ("encoder", "decoder"):
        for block in anatomy.stacks.get(stack, ()):
            names.setdefault(block.layer_module, []).append(anatomy.layout.spell_layer(stack, block.layer))
    mask = inputs.get("attention_mask")
    real = None if mask is None else torch.as_tensor(mask).bool().flatten(0, -2)
    origins: list[str] = []
    uses = dict.fromkeys(names, 0)
    mine = threading.get_ident()  # passes of other threads meet the hooks too

    def is_bad(states: Any) -> bool:
        tensor = states[0] if isinstance(states, tuple) and states else states
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            return False
        bad = ~tensor.isfinite()
        if real is not None and bad.shape[:2] == real.shape:
            bad = bad[real.to(bad.device)]  # padding is arbitrary
        return bool(bad.any())

    def before(module: nn.Module, args: Any) -> None:
        if threading.get_ident() == mine and not origins and is_bad(args):
            origins.append(f"from the embeddings before {names[module][0]} on")

    def after(module: nn.Module, args: Any, output: Any) -> None:
        if threading.get_ident() != mine:
            return
        layer = names[module][min(uses[module], len(names[module]) - 1)]
        uses[module] += 1
        if not origins and is_bad(output):
            origins.append(f"from {layer} on")

    with hooked(names, before, after), torch.no_grad():
        result = model(**inputs)
    if origins:
        return origins[0]
    first = next((value for value in result.values() if isinstance(value, Tensor)), None)
    return "behind the last layer" if first is not None and is_bad(first) else None
