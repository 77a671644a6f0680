"""Statistical cues of a data set: `cues` counts them, asks how far they get alone, and compares a model with them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from transformers import PreTrainedModel

from headcount.ablation.job import Data, Job, prepare_job, read_data
from headcount.core.options import belongs_to, without_effect
from headcount.core.proportions import wilson_interval
from headcount.core.provenance import Origin, fingerprint
from headcount.core.results import Labelled
from headcount.core.schema import Schema, with_schemas
from headcount.core.writers import writes_study
from headcount.data.blank_rows import ATTRIBUTE
from headcount.data.in_memory import name_of
from headcount.data.number_options import check_numbers
from headcount.data.tasks import Task
from headcount.engines.ledger import perform
from headcount.engines.run import Run, group_name
from headcount.errors import DataProblem, InvalidOption
from headcount.models.fingerprint import find_origin
from headcount.statistical_cues.beside_model import beside_model
from headcount.statistical_cues.classifier import OutOfFold
from headcount.statistical_cues.folds import group_texts, make_folds
from headcount.statistical_cues.one_cue import best_choice_cue, best_label_cue
from headcount.statistical_cues.pointing import Counting, classify, count_cues, tested_cues
from headcount.statistical_cues.productivity import (
    APPLICABLE,
    SCHEMAS,
    choice_entries,
    choice_statistics,
    label_counts,
    label_statistics,
)
from headcount.statistical_cues.reading import CueData, find_cue_task, read_cue_data
from headcount.statistical_cues.tokenize import check_rule
from headcount.trace.session import check_untouched
from headcount.training.scores import predict_labels

LEAST = 10
WHOLE = {
    "cue": Schema("Cue"),
    "best_cue": Schema("Best single cue", "", "selected on one half of the examples"),
    "best_rule": Schema("Rule of the best cue", "", "learned on one half of the examples"),
    "best_accuracy": Schema("Accuracy of the best cue alone", "share", "on the other half of the examples", (0, 1)),
    "best_guess": Schema("Accuracy of guessing", "share", "on the other half: chance, or the majority label", (0, 1)),
    "best_examples": Schema("Examples of the other half", "", "", (1, None)),
    "majority": Schema("Accuracy of the most frequent label", "share", range=(0, 1)),
    "cue_accuracy": Schema("Accuracy of the cue-only classifier", "share", "out-of-fold", (0, 1)),
    "label": Schema("Label", "", "number of the class or of the choice"),
    "cue_prediction": Schema("Prediction of the cue-only classifier", "", "out-of-fold; -1: no cue tells", (-1, None)),
    "cue_right": Schema("Cue-only classifier right", "share", "in between: no cue tells the choices apart", (0, 1)),
    "model_prediction": Schema("Prediction of the model"),
}


@writes_study("out")
def cues(
    data: Data,
    *,
    task: str | Task | None = None,
    choices: Iterable[str] | None = None,
    text: Iterable[str] | None = None,
    label: str | None = None,
    labels: Iterable[str] | None = None,
    side: str | None = None,
    applicable: str | None = None,
    tokens: str = "words",
    cased: bool = False,
    bigrams: bool = True,
    least: int = LEAST,
    top: int | None = None,
    classifier: bool = True,
    model: PreTrainedModel | None = None,
    tokenizer: Any = None,
    untrained: bool = False,
    max_length: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    name: str | None = None,
) -> xr.Dataset:
    """The cues of a labelled data set: words that give the label away (Niven and Kao 2019), as a Dataset along `cue`.

    `choices`: the columns of the choices of multiple-choice data. Otherwise `task`: a GLUE task or `classification`
    (the default), or a Task; `text`, `label` and `labels` as in `find_task`. Of a pair, `side` looks at the `first`
    text, the `second` or `both` (the default).

    A cue is a token or, with `bigrams`, two neighbouring ones. `tokens`: `words` (the default; words and marks of
    punctuation), `whitespace`, or the `pieces` of the tokenizer; in lower case unless `cased`. Of each cue that is
    applicable to at least `least` examples, strongest first (and only the `top` ones, if given):

    - `applicability`, the number of examples that the cue is applicable to: those of which exactly one choice has it,
      or with `applicable="any"` at least one; in a classification those whose text has it;
    - `productivity`, the share of these whose correct choice has it, or that have its most frequent label
      (`label_of_cue`), and `coverage`, the share of all examples that it is applicable to, both with an interval;
    - `chance`, which is 1/m for m choices and the base rate of the label in a classification, and `useful`, whether
      productivity is above it; the p-value of a two-sided binomial test against chance, and `q`, corrected for all cues
      that were tested;
    - `alone`, the accuracy of a rule that knows this cue only.

    `best_cue` is selected on one half of the examples, and `best_accuracy` is its accuracy on the other.
    `cue_accuracy` is that of a logistic regression on the presence of all tested cues, out-of-fold in 5 folds, with the
    regularisation selected within the other folds (`classifier=False` leaves it out). Examples with the same texts are
    in the same half and in the same fold.

    With a `model` and its tokenizer, `model_accuracy` [part] is its accuracy on all examples, on those that the
    cue-only classifier gets right, on those that it gets wrong and on those without a cue. `accuracy_without_cues` is
    what the accuracy would be if the classifier were no better than guessing, `explained` the difference, and
    `error_consistency` (Cohen's kappa) how far the two are right and wrong on the same examples. Multiple choice needs
    the columns of the context in `text`. `out`: a study folder.
    """
    check_numbers(seed=seed, limit=limit, max_length=max_length, least=least, top=top)
    belongs_to("name", name, "out", out)
    check_rule(tokens, cased, tokenizer)
    if model is None:
        belongs_to("max_length", max_length, "model", model)
        belongs_to("untrained", untrained, "model", model)
        if tokens != "pieces":
            without_effect("tokenizer", tokenizer, f"{tokens} need none, and there is no model")
    elif tokenizer is None:
        raise InvalidOption("got a model without its tokenizer; give it with tokenizer=")
    else:
        without_effect("no_classifier", not classifier, "a model is compared with the cue-only classifier")
    cue_task = find_cue_task(data, task, choices, text, label, labels, model is not None)
    if cue_task.choices:
        without_effect("side", side, "cues are counted in each choice")
    else:
        without_effect("applicable", applicable, "only the choices of a multiple choice can share a cue")
    if applicable is not None and applicable not in APPLICABLE:
        raise InvalidOption(f"got applicable={applicable!r}; expected one of {', '.join(APPLICABLE)}")
    job = None
    if model is not None:
        check_untouched(model)
        table = cue_task.prepare(read_data(data, cue_task.task))
        job = prepare_job(
            model, tokenizer, table, cue_task.task, "zero", "accuracy", limit, seed, max_length, untrained
        )
        classes = None if cue_task.choices else model.config.id2label
        read = read_cue_data(table, cue_task, side, limit, seed, classes, tokenizer)
    else:
        read = read_cue_data(data, cue_task, side, limit, seed)
    counting = Counting(applicable or APPLICABLE[0], tokens, cased, bigrams, least, top, classifier)
    vocabulary = fingerprint([sorted(tokenizer.get_vocab().items())]) if tokens == "pieces" else None
    run = Run(
        group_name(f"cues/{cue_task.task.kind.name}", name),
        _origin(model, read.fingerprint, seed),
        {**vars(counting), "side": side or "both", "tokenizer": vocabulary, "max_length": max_length},
        _attributes(data, read, counting, job),
        lambda _: _summarise(read, counting, tokenizer, job, seed),
    )
    return perform(run, out)


def _origin(model: PreTrainedModel | None, data: str, seed: int) -> Origin:
    if model is None:
        return Origin({"data": data, "seed": seed}, {"device": "cpu"})
    return find_origin(model, data, seed)


def _attributes(data: Data, read: CueData, counting: Counting, job: Job | None) -> dict[str, Any]:
    task = read.examples.task
    return {
        "task": task.name,
        "kind": task.kind.name,
        "data": name_of(data),
        "examples": len(read),
        "choices": read.names if read.is_choice else [],
        "labels": [] if read.is_choice else read.names,
        "side": read.side or ("" if read.is_choice or len(read.examples.texts[0]) < 2 else "both"),
        **vars(counting),
        "cut": 0 if job is None else job.encodings.cut,
        ATTRIBUTE: dict(read.examples.blank),
        "notes": list(read.examples.notes),
    }


def _summarise(read: CueData, counting: Counting, tokenizer: Any, job: Job | None, seed: int) -> Labelled:
    parts, names, sizes = count_cues(read, counting, tokenizer)
    groups = group_texts(read.texts)
    first = make_folds(groups, 2, seed) == 0
    if first.all():
        raise DataProblem("all examples have the same texts; expected at least two that differ")
    if read.is_choice:
        entries = choice_entries(parts, read.labels, counting.applicable)
        statistics = choice_statistics(entries, len(read))
        order, q = tested_cues(statistics, names, counting)
        best = best_choice_cue(entries, first, order)
        del entries  # as large as the counts themselves
    else:
        totals = np.bincount(read.labels, minlength=len(read.names))
        statistics = label_statistics(label_counts(parts[0], read.labels, len(read.names)), totals)
        order, q = tested_cues(statistics, names, counting)
        best = best_label_cue(parts[0], read.labels, read.names, first, order)
    shown = order[: counting.top]
    arrays: dict[str, tuple[Any, ...]] = {
        "cue": (("cue",), names[shown]),
        "size": (("cue",), sizes[shown]),
        **{key: (("cue",), values[shown]) for key, values in statistics.items()},
        "q": (("cue",), q[: counting.top]),
        "tested": ((), len(order)),
        "best_cue": ((), np.asarray(names[best.cue], dtype=object)),
        "best_rule": ((), np.asarray(best.rule, dtype=object)),
        "best_accuracy": ((), best.accuracy),
        "best_accuracy_low": ((), best.low),
        "best_accuracy_high": ((), best.high),
        "best_guess": ((), best.guess),
        "best_examples": ((), best.examples),
        "majority": ((), read.majority),
    }
    if "label_of_cue" in arrays:
        classes = np.array(read.names, dtype=object)
        arrays["label_of_cue"] = (("cue",), classes[statistics["label_of_cue"][shown]])
    labelled = with_schemas(arrays, SCHEMAS | WHOLE | {"tested": Schema("Cues tested", "", "", (1, None))})
    if not counting.classifier:
        return labelled
    parts = [part[:, order] for part in parts]
    out_of_fold = classify(read, parts, groups, seed)
    predicted = None
    if job is not None:
        predicted = predict_labels(job.model, tokenizer, job.task.kind, job.encodings, job.examples.ids)
    return {
        **labelled,
        **_by_classifier(read, out_of_fold, predicted, seed),
    }


def _by_classifier(read: CueData, out_of_fold: OutOfFold, predicted: np.ndarray | None, seed: int) -> Labelled:
    right = out_of_fold.right(read.labels)
    low, high = wilson_interval(right.sum(keepdims=True), np.array([len(right)]))
    arrays: dict[str, tuple[Any, ...]] = {
        "cue_accuracy": ((), right.mean()),
        "cue_accuracy_low": ((), low[0]),
        "cue_accuracy_high": ((), high[0]),
        "example": (("example",), read.examples.ids),
        "label": (("example",), read.labels),
        "cue_prediction": (("example",), out_of_fold.predicted),
        "cue_right": (("example",), right),
    }
    if predicted is None:
        return with_schemas(arrays, WHOLE)
    arrays["model_prediction"] = (("example",), predicted)
    floor = 1 / len(read.names) if read.is_choice else read.majority
    return {**with_schemas(arrays, WHOLE), **beside_model(predicted == read.labels, right, floor, seed)}
