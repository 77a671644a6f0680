"""Heads and units really gone: cut out of the weights, in place, and checked against the whole model on a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.ablated import ablated
from headcount.core.units import Selection
from headcount.errors import CannotPrune
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.example_inputs import example_inputs
from headcount.models.finite_weights import check_weights
from headcount.models.surgery import check_can_prune, cut
from headcount.pruning.verify import Check, check_outputs, outputs_of
from headcount.trace.anatomy import read_anatomy
from headcount.trace.session import check_untouched

LAST_CHECK = "headcount_check"
"""Attribute of a pruned model: how its outputs compared with those of the whole model without the heads."""


@takes_compiled
def prune(model: PreTrainedModel, heads: Any, *, batch: Mapping[str, Tensor] | None = None) -> PreTrainedModel:
    """The model without these heads (`["L3H7", "L5"]`, a HeadSet): their weights are gone. In place; returns the model.

    Feed-forward units are removed as heads are: `["L3H7", "L3U0-511"]`, or `L3U` for all of a layer. Both keep their
    numbers: `L3H7` means the same head after any number of cuts. A layer may lose all of its heads or units; it then
    gives the bias of the output projection. Before the cut the model runs with them at zero, on `batch` or on a few
    random tokens, and after it without them: if the outputs differ by more than rounding, the cut is taken back and
    `PruneMismatch` raised. `headcount.save` writes the model, `headcount.load` reads it.

    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9))
    >>> read_anatomy(prune(model, ["L0H1", "L1"])).layout.stacks
    {'encoder': ((0, 2, 3), ())}
    """
    check_untouched(model, "heads are cut out of the model itself; leave the context first")
    check_whole(model, "remove heads", CannotPrune)
    anatomy = read_anatomy(model)
    chosen = Selection.of(heads, anatomy.layout, anatomy.units)
    if not chosen:
        return model
    check_can_prune(anatomy)
    check_weights(model)
    given = dict(batch) if batch is not None else example_inputs(model)
    with ablated(model, chosen):
        before = outputs_of(model, given)
    undo = cut(model, chosen)
    try:
        check: Check = check_outputs(before, outputs_of(model, given))
    except BaseException:
        undo()
        raise
    setattr(model, LAST_CHECK, check)
    return model
