"""One forward pass feeds all measures: each layer is seen when it has run, reduced at once, and dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.data.marks import Marks
from headcount.measures.contract import Question, Seen, Values
from headcount.models.anatomy import Anatomy
from headcount.models.unembedding import Unembedding
from headcount.trace.blocked_view import BlockedView, in_blocks_if_long
from headcount.trace.edits import LayerKey, LayerRun
from headcount.trace.final_scales import final_scales
from headcount.trace.memory import try_in_memory
from headcount.trace.not_finite import refuse_rows
from headcount.trace.session import session

Found = dict[str, dict[LayerKey, Values]]
"""By measure, by layer."""


def see_layers(
    model: PreTrainedModel,
    anatomy: Anatomy,
    batch: Mapping[str, Any],
    source: Marks,
    target: Marks | None,
    classes: tuple[str, ...],
    look: Callable[[Seen], None],
    unembedding: Unembedding | None = None,
) -> None:
    """Run the batch once and call `look` for every layer with what it did.

    A text for which a head's output is not finite is an error (`NotFiniteRow`), once the pass is over: a NaN that a
    measure gives then means that its question does not apply to the text, and nothing else.
    """
    stacked = {
        id(marks): torch.stack([_class(marks, name) for name in classes], -1)
        for marks in (source, target)
        if marks is not None
    }
    bad: list[Tensor] = []

    def see(run: LayerRun) -> None:
        run = run.on(source.real.device)
        stack, outputs = run.block.stack, run.outputs
        queries = source if stack == "encoder" or target is None else target
        keys = source if stack in ("encoder", "cross") or target is None else target
        bad.append((~outputs.isfinite().flatten(2).all(-1) & (queries.real > 0)).any(-1))
        look(Seen(run.attention(stacked[id(keys)]), queries, keys, classes, unembedding))

    observers = {(block.stack, block.layer): see for block in anatomy}
    with torch.no_grad(), session(model, observers=observers, purpose="measurement"):
        model(**batch, **_few_logits(model))
    refuse_rows(model, bad, "the outputs of its heads are")


def _few_logits(model: PreTrainedModel) -> dict[str, int]:
    """Nobody reads the logits, and those of a long text take more than the rest of the pass."""
    return {"logits_to_keep": 1} if "logits_to_keep" in signature(model.forward).parameters else {}


def _class(marks: Marks, name: str) -> Tensor:
    return marks.classes.get(name, torch.zeros_like(marks.real))


def run_measures(
    model: PreTrainedModel,
    anatomy: Anatomy,
    batch: Mapping[str, Any],
    source: Marks,
    target: Marks | None,
    classes: tuple[str, ...],
    measures: list[Question],
    unembedding: Unembedding | None = None,
) -> Found:
    """The values of all measures for all layers of one batch."""
    values_by_measure: Found = {measure.name: {} for measure in measures}
    # The map is built before a measure that could do without it: it would be built a second time otherwise.
    ordered = sorted(measures, key=lambda measure: not measure.needs_map)

    def look(seen: Seen) -> None:
        for name, values in see_in_memory(ordered, seen).items():
            values_by_measure[name][seen.stack, seen.view.block.layer] = values

    in_logits = [measure for measure in measures if measure.in_logits]
    if not in_logits:
        see_layers(model, anatomy, batch, source, target, classes, look)
        return values_by_measure
    assert unembedding is not None  # otherwise these measures are left out
    with final_scales(unembedding.norm) as scales:
        see_layers(model, anatomy, batch, source, target, classes, look, unembedding)
    for measure in in_logits:
        for values in values_by_measure[measure.name].values():
            for name in measure.in_logits:
                values[name] = (values[name] / scales[-1].to(values[name].device)[:, None]).sum(-1)
    return values_by_measure


def see_in_memory(measures: list[Question], seen: Seen) -> dict[str, Values]:
    """What the measures see of a layer; of one text, where memory does not suffice, half of the heads at a time."""
    seen = replace(seen, view=in_blocks_if_long(seen.view))

    def see() -> dict[str, Values]:
        if isinstance(seen.view, BlockedView):
            return _see_in_blocks(measures, seen, seen.view)
        return {measure.name: measure.see(seen) for measure in measures}

    places = list(range(len(seen.view.block.heads)))
    if len(seen.view.call.value) > 1 or len(places) == 1:
        return see()
    seen_at_once = try_in_memory(see)
    if seen_at_once is not None:
        return seen_at_once
    middle = len(places) // 2
    halves = [_see_some(measures, seen, part) for part in (places[:middle], places[middle:])]
    if any(half is None for half in halves):
        return see()
    return {
        name: {key: torch.cat([half[name][key] for half in halves if half is not None], 1) for key in values}
        for name, values in (halves[0] or {}).items()
    }


def _see_in_blocks(measures: list[Question], seen: Seen, view: BlockedView) -> dict[str, Values]:
    """What the measures see of a long text: each says what it wants, and is asked again when that is known."""
    values: dict[str, Values] = {}
    wanting: list[Question] = []
    for measure in measures:
        with view.asking() as asked:
            answer = measure.see(replace(seen))  # what is kept of zeros is dropped with its copy
        if asked():
            wanting.append(measure)
        else:
            values[measure.name] = answer
    view.answer()
    seen = replace(seen)
    values |= {measure.name: measure.see(seen) for measure in wanting}
    return values


def _see_some(measures: list[Question], seen: Seen, places: list[int]) -> dict[str, Values] | None:
    """What the measures see of some heads; None where these cannot be looked at alone.

    A function of its own, so that what was built for these heads is let go before the other half is looked at.
    """
    view = seen.view.of_heads(places)
    return None if view is None else see_in_memory(measures, replace(seen, view=view, kept={}))
