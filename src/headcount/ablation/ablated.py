"""Ablate heads of a model for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformers import PreTrainedModel

from headcount.ablation.means import mean_outputs
from headcount.ablation.replacements import REPLACEMENTS, check_how, make_edit
from headcount.core.heads import Heads, HeadSet
from headcount.errors import InvalidOption, UnknownHead
from headcount.models.compiled import plain_model
from headcount.trace.anatomy import read_anatomy
from headcount.trace.session import session


@contextmanager
def ablated(
    model: PreTrainedModel, heads: Heads, how: str = "zero", reference: Any = None
) -> Iterator[PreTrainedModel]:
    """Replace heads in every forward pass inside the context, generation included; contexts nest.

    `heads`: names (`"L3H7, L5"`, `["L3H7", "L5"]`), or layers and their heads (`{3: [7], 5: [0, 1]}`). The context
    belongs to the thread or task that opened it: passes that others run at the same time are untouched.

    `how`: `zero`, `uniform` (attention spread equally over all positions that the mask allows, values kept) or `mean`
    (the head's mean output over the real tokens of `reference`: a batch of inputs, a list of them, or their
    `mean_outputs`).

    >>> import torch
    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9)).eval()
    >>> with ablated(model, ["L0H1", "L1"], how="uniform"):
    ...     without = model(input_ids=torch.tensor([[1, 2, 3]])).last_hidden_state
    """
    needs_reference = REPLACEMENTS[check_how(how)].needs_reference
    anatomy = read_anatomy(model)
    chosen = HeadSet.of(heads, anatomy.layout)
    if not chosen:
        raise UnknownHead("got no heads to ablate; expected at least one, such as 'L3H7'")
    if reference is not None and not needs_reference:
        raise InvalidOption(f"how={how!r} takes no reference=; how='mean' does")
    is_means = isinstance(reference, dict) and set(reference) == set(anatomy.stacks)
    means = reference if reference is None or is_means else mean_outputs(model, reference)
    edits = {key: make_edit(how, anatomy.attention(*key), numbers, means) for key, numbers in chosen.by_layer().items()}
    with session(plain_model(model), edits, purpose=f"ablating {chosen}"):
        yield model
