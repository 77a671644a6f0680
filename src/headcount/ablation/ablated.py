"""Ablate heads and feed-forward units of a model for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from transformers import PreTrainedModel

from headcount.ablation.faded import Faded
from headcount.ablation.hows import Patch
from headcount.ablation.means import mean_outputs
from headcount.ablation.replacements import REPLACEMENTS, check_how, make_edit
from headcount.core.heads import Heads, HeadSet
from headcount.core.units import Selection
from headcount.errors import InvalidOption, UnknownHead
from headcount.models.anatomy import Anatomy
from headcount.models.compiled import plain_model
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import Edit, LayerKey
from headcount.trace.modes import evaluating
from headcount.trace.parts import Patched, keep_part
from headcount.trace.session import session


@contextmanager
def ablated(
    model: PreTrainedModel,
    heads: Heads | Selection,
    how: str | Patch = "zero",
    reference: Any = None,
    strength: float = 1.0,
) -> Iterator[PreTrainedModel]:
    """Replace heads in every forward pass inside the context, generation included; contexts nest.

    `heads`: names (`"L3H7, L5"`, `["L3H7", "L5"]`), or layers and their heads (`{3: [7], 5: [0, 1]}`); feed-forward
    units such as `L3U0-511` are replaced as heads are, by `zero` or `mean`. The context belongs to the thread or task
    that opened it: passes that others run at the same time are untouched.

    `how`: `zero`, `uniform` (attention spread equally over all positions that the mask allows, values kept), `mean`
    (the head's mean output over the real tokens of `reference`: a batch of inputs, a list of them, or their
    `mean_outputs`) or `patch` (what the head does on `reference`, a batch of as many texts and tokens as those of each
    pass; `Patch(part=...)` for its query, key, value or attention weights alone).

    `strength`: the share of each head's output that is replaced, from 0 to 1; with zeros it is a gate of 1 - strength.

    >>> import torch
    >>> from transformers import BertConfig, BertModel
    >>> model = BertModel(BertConfig(num_hidden_layers=2, hidden_size=24, num_attention_heads=4, vocab_size=9)).eval()
    >>> with ablated(model, ["L0H1", "L1"], how="uniform"):
    ...     without = model(input_ids=torch.tensor([[1, 2, 3]])).last_hidden_state
    """
    patch = find_patch(how)
    if not 0 <= strength <= 1 or (patch is not None and strength != 1):
        raise InvalidOption(f"got strength={strength}; expected a number from 0 to 1, and 1 with how='patch'")
    needs_reference = patch is not None or REPLACEMENTS[check_how(str(how))].needs_reference
    anatomy = read_anatomy(model)
    selected = Selection.of(heads, anatomy.layout, anatomy.units)
    chosen = selected.heads
    if not selected:
        raise UnknownHead("got no heads to ablate; expected at least one, such as 'L3H7'")
    if reference is not None and not needs_reference:
        raise InvalidOption(f"how={how!r} takes no reference=; how='mean' and how='patch' do")
    if selected.units and (patch is not None or how == "uniform"):
        raise InvalidOption(f"got how={how!r} for {selected.units}: units have no attention; expected zero or mean")
    if patch is not None:
        edits: dict[LayerKey, Edit] = dict(_patched(plain_model(model), anatomy, chosen, patch, reference))
        with session(plain_model(model), edits, purpose=f"patching {chosen}"):
            yield model
        return
    is_means = isinstance(reference, dict) and set(anatomy.stacks) <= set(reference)
    means = reference if reference is None or is_means else mean_outputs(model, reference, units=bool(selected.units))
    edits = {
        key: make_edit(str(how), anatomy.attention(*key), numbers, means) for key, numbers in chosen.by_layer().items()
    }
    for key, numbers in selected.units.by_layer().items():
        block = anatomy.feed_forward(*key)
        edits[block.layer_key] = make_edit(str(how), block, numbers, means)
    if strength != 1:
        edits = {key: Faded(edit, strength) for key, edit in edits.items()}
    with session(plain_model(model), edits, purpose=f"ablating {selected}"):
        yield model


def find_patch(how: str | Patch) -> Patch | None:
    """The patch that is meant, if one is: at all positions, since a context knows no names of others."""
    patch = Patch() if how == "patch" else how
    if not isinstance(patch, Patch):
        return None
    if patch != Patch(part=patch.part):
        raise InvalidOption(f"got how={patch}; inside a context, only part= can be given: the rest is what is run")
    return patch


def _patched(
    model: PreTrainedModel, anatomy: Anatomy, chosen: HeadSet, patch: Patch, reference: Any
) -> Iterator[tuple[LayerKey, Edit]]:
    if not isinstance(reference, Mapping):
        raise InvalidOption("how='patch' needs reference=: a batch of inputs, whose heads take the place of others")
    layers = chosen.by_layer()
    with evaluating(model), torch.no_grad():
        _, kept = keep_part(model, layers, patch.part, lambda: model(**reference))
    for key, numbers in layers.items():
        block = anatomy.attention(*key)
        yield key, Patched([block.column(head) for head in numbers], kept[key], None)
