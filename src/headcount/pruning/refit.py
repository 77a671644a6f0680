"""A cut model brought nearer to the whole one without labels and without training, by least squares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from transformers import PreTrainedModel

from headcount.ablation.job import (
    Data,
    check_classifier,
    find_known_task,
    input_batches,
)
from headcount.core.options import one_of
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.progress import Progress
from headcount.errors import DataProblem, UnsuitableModel
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.finite_weights import check_weights
from headcount.models.output_weights import all_keys, parts_of, read_output_weights
from headcount.models.plain_weights import check_plain
from headcount.pruning.fit_outputs import FITS, RIDGE, fit_outputs
from headcount.pruning.gram import PASSES, gram_matrices
from headcount.pruning.prepared_fit import count_batches, read_texts
from headcount.trace.anatomy import read_anatomy
from headcount.trace.edits import LayerKey
from headcount.trace.session import check_untouched

LEAST_TEXTS = 20
MOST_BYTES = 4 * 2**30
"""Of the Gram matrices that are in memory at a time; the texts are run once more for the others."""


@takes_compiled
def refit(
    model: PreTrainedModel,
    whole: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    task: str | Task | None = None,
    how: str = "weights",
    ridge: float = RIDGE,
    limit: int | None = 1024,
    seed: int = 0,
    max_length: int | None = None,
    progress: Progress | None = None,
) -> PreTrainedModel:
    """The cut model with output projections that come as near as possible to the whole model's, in place.

    `whole`: the model before the cut. `data` and `task` as for `sweep`; labels are not read, so the texts need none.
    Every block that has lost heads or units gets, by least squares over the tokens of the texts, the output projection
    whose outputs are nearest to the whole block's: all of its weights and its bias (`how="weights"`), or one factor for
    each head and unit that is left (`how="scales"`). `ridge`: the penalty on changes of the weights. `limit`: the
    number of texts, 1,024 by default; None for all. Recover with a small learning rate afterwards, such as 5e-5.
    """
    one_of("how", how, FITS)
    check_numbers(ridge=ridge, limit=limit, seed=seed, max_length=max_length)
    for each in (model, whole):
        check_whole(each, "refit it")
        check_plain(each, "refit it")
        check_untouched(each, "a refit is of the models themselves; leave the context first")
        check_weights(each)
    keys = changed_blocks(model, whole)
    known = find_known_task(data, task)
    check_classifier(whole, known)
    known = known.for_model(whole)
    texts = read_texts(whole, tokenizer, data, known, limit, seed, max_length)
    if len(texts.rows) < LEAST_TEXTS:
        raise DataProblem(f"got {len(texts.rows)} texts for a refit; expected at least {LEAST_TEXTS}, better 1,000")
    weights = read_output_weights(whole, keys)
    portions = list(in_portions({key: len(weights[key].matrix) for key in keys}))
    ran = count_batches(texts, progress, PASSES * len(portions))
    for portion in portions:
        grams = gram_matrices(whole, input_batches(whole, tokenizer, known.kind, texts), portion, ran)
        fit_outputs(model, grams, weights, how, ridge)
    return model


def changed_blocks(model: PreTrainedModel, whole: PreTrainedModel) -> list[LayerKey]:
    """The blocks in which the model has fewer heads or units than the whole one; an error if it is no cut of it."""
    cut, anatomy = read_anatomy(model), read_anatomy(whole)
    keys = all_keys(anatomy)
    if all_keys(cut) != keys:
        raise UnsuitableModel("the model has other layers than whole=; expected the model before the cut")
    changed = []
    for key in keys:
        ours, theirs = cut.block(key), anatomy.block(key)
        same_shape = ours.size == theirs.size and ours.output_matrix.shape[1] == theirs.output_matrix.shape[1]
        if not same_shape or not set(parts_of(ours)) <= set(parts_of(theirs)):
            raise UnsuitableModel(
                f"{anatomy.layout.spell_layer(*key)} of the model is no part of that of whole=; expected the model "
                "before the cut"
            )
        if parts_of(ours) != parts_of(theirs):
            changed.append(key)
    if not changed:
        raise UnsuitableModel("the model has all heads and units of whole=, so that there is nothing to refit")
    return changed


def in_portions(widths: Mapping[LayerKey, int], most: int | None = None) -> Iterator[list[LayerKey]]:
    """Blocks whose Gram matrices fit into memory together, by the number of columns of each.

    >>> list(in_portions({("decoder", 0): 1, ("decoder", 1): 1, ("decoder", 2): 3}, most=100))
    [[('decoder', 0), ('decoder', 1)], [('decoder', 2)]]
    """
    most = MOST_BYTES if most is None else most
    portion: list[LayerKey] = []
    held = 0
    for key, width in widths.items():
        size = 8 * (width + 1) ** 2
        if portion and held + size > most:
            yield portion
            portion, held = [], 0
        portion.append(key)
        held += size
    if portion:
        yield portion
