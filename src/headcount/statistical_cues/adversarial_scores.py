"""A model on examples and on their adversarial twins: is it right for the right reason?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, prepare_job, read_data
from headcount.core.proportions import mcnemar, tango_interval, wilson_interval
from headcount.core.results import Labelled
from headcount.core.schema import Schema, with_schemas
from headcount.data.number_options import check_numbers
from headcount.models.fingerprint import find_origin
from headcount.statistical_cues.reading import find_cue_task
from headcount.statistical_cues.twin_pairs import find_pairs
from headcount.trace.session import check_untouched
from headcount.training.scores import predict_labels

LEVEL = 0.95
SETS = ("original", "adversarial", "all")
SCHEMAS = {
    "set": Schema("Examples", "", "the originals, their twins, or both together"),
    "accuracy": Schema("Accuracy of the model", "share", range=(0, 1)),
    "change": Schema("Change in accuracy", "share", "on the twins, compared with their originals", (-1, 1)),
    "p": Schema("p-value of the change", "", "McNemar's exact test", (0, 1)),
    "both_right": Schema("Pairs with both right", "share", "the original and its twin", (0, 1)),
    "same_choice": Schema(
        "Pairs with the same prediction", "share", "1: the prediction does not depend on what the twin changes", (0, 1)
    ),
    "pairs": Schema("Pairs", "", "of an original and its twin", (1, None)),
}


def adversarial_scores(
    model: PreTrainedModel,
    tokenizer: Any,
    data: Data,
    *,
    choices: Iterable[str],
    text: Iterable[str],
    label: str | None = None,
    twin_column: str | None = None,
    untrained: bool = False,
    max_length: int | None = None,
) -> xr.Dataset:
    """The accuracy of a model on multiple-choice examples and on their adversarial twins, compared pair by pair.

    `data`: what `adversarial` returns or writes, or a table with a column `twin_column` that says which rows are twins
    (`original` and `negated`, or false and true; by default the column `twin` or `adversarial`). An original and the
    twin with the same choices are a pair; swapped copies are left out. `text`: the columns of the context, which are
    joined; `choices` and `label` as in `adversarial`.

    - `accuracy` [set]: on the originals, on their twins (`adversarial`) and on `all`, with intervals;
    - `change`: the accuracy on the twins minus that on the originals, with a paired interval (Tango 1998) and the
      p-value of McNemar's exact test;
    - `both_right`: the share of pairs of which the model gets both right, and `same_choice`: the share of pairs in
      which it predicts the same choice, both with an interval.

    If a twin has the other label (the attribute `mirrored`), a model that reads only the choices predicts the same for
    both: it gets exactly one of each pair right, an accuracy of 0.5 on all, however good it is on the originals.
    """
    check_numbers(max_length=max_length)
    check_untouched(model)
    cue_task = find_cue_task(data, None, choices, text, label, None, modelled=True)
    table = cue_task.prepare(read_data(data, cue_task.task))
    pairs = find_pairs(table, cue_task.choices, twin_column)
    chosen = table.iloc[np.sort(pairs.ravel())]
    job = prepare_job(model, tokenizer, chosen, cue_task.task, "zero", "accuracy", None, 0, max_length, untrained)
    predicted = predict_labels(model, tokenizer, job.task.kind, job.encodings, job.examples.ids)
    position = {row: number for number, row in enumerate(job.examples.ids)}
    rows = [[position.get(table.index[row], -1) for row in pair] for pair in pairs]
    known = np.array([pair for pair in rows if min(pair) >= 0])  # without pairs of which a row is blank
    labels = np.asarray(job.examples.labels)[known]
    arrays = compare_pairs(predicted[known], labels)
    mirrored = len(cue_task.choices) == 2 and bool((labels.sum(1) == 1).all())
    attributes = job.attributes | find_origin(model, job.fingerprint, 0).provenance | {"mirrored": mirrored}
    return xr.Dataset(arrays, attrs=attributes)


def compare_pairs(predicted: np.ndarray, labels: np.ndarray) -> Labelled:
    """From predictions and labels [pair, 2] of originals and twins: accuracies, their change, and shares of pairs."""
    right = predicted == labels
    count = len(right)
    both, neither = right.all(1).sum(), (~right).all(1).sum()
    lost, won = (right[:, 0] & ~right[:, 1]).sum(), (~right[:, 0] & right[:, 1]).sum()
    # On all examples the pairs count, not the rows: the accuracy is above 1/2 by half of what `both` exceeds `neither`.
    change_low, change_high = tango_interval(np.array([lost, neither]), np.array([won, both]), count, LEVEL)
    low, high = wilson_interval(right.sum(0), np.array([count, count]))
    arrays: dict[str, tuple[Any, ...]] = {
        "set": (("set",), np.array(SETS, dtype=object)),
        "accuracy": (("set",), np.array([*right.mean(0), right.mean()])),
        "accuracy_low": (("set",), np.array([*low, (1 + change_low[1]) / 2])),
        "accuracy_high": (("set",), np.array([*high, (1 + change_high[1]) / 2])),
        "change": ((), (won - lost) / count),
        "change_low": ((), change_low[0]),
        "change_high": ((), change_high[0]),
        "p": ((), mcnemar(right[:, 0], right[None, :, 1])[0]),
        "pairs": ((), count),
    }
    shares = {"both_right": right.all(1), "same_choice": predicted[:, 0] == predicted[:, 1]}
    for name, values in shares.items():
        ends = wilson_interval(values.sum(keepdims=True), np.array([count]))
        arrays |= {name: ((), values.mean()), f"{name}_low": ((), ends[0][0]), f"{name}_high": ((), ends[1][0])}
    return with_schemas(arrays, SCHEMAS)
