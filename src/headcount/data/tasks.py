"""Tasks: which columns hold the texts and the label, what the label's codes mean, how a score is made of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pandas as pd

from headcount.errors import DataProblem, InvalidOption

KINDS = (
    "classification",
    "regression",
    "token-classification",
    "multiple-choice",
    "masked-lm",
    "causal-lm",
    "translation",
)


@dataclass(frozen=True)
class Task:
    """What to read and how to score it.

    `texts` are the names that the text columns may have, the first that the table has all of being taken:
    one column or two for a pair, the context and then each choice for a multiple choice, source and target
    for a translation. `names` are the meanings of the label's codes 0, 1, ..., where they are known.
    """

    name: str
    kind: str
    texts: tuple[tuple[str, ...], ...]
    label: str | None
    metric: str
    names: tuple[str, ...] | None = None
    hub: tuple[str, str, str] | None = None
    given: tuple[str, ...] | None = None
    """Names that the user gave: of the label's codes, in the model's words, or, where the model's classes have no names
    of their own (LABEL_0, ...), of these classes in their order."""

    def columns(self, table: pd.DataFrame) -> tuple[str, ...]:
        """The text columns of this table."""
        for names in self.texts:
            if set(names) <= set(table.columns):
                return names
        wanted = " or ".join(" and ".join(names) for names in self.texts)
        raise DataProblem(f"no column {wanted} for {self.name}; the table has {', '.join(map(str, table.columns))}")


def _glue(name: str, metric: str, names: tuple[str, ...] | None, *texts: tuple[str, ...], split: str = "validation",
          config: str | None = None) -> Task:  # fmt: skip
    kind = "classification" if names else "regression"
    return Task(name, kind, texts, "label", metric, names, ("nyu-mll/glue", config or name, split))


_PAIR, _ENTAILMENT = ("sentence1", "sentence2"), ("entailment", "not_entailment")
_MNLI = ("entailment", "neutral", "contradiction")
GLUE = {
    task.name: task
    for task in (
        _glue("cola", "matthews", ("unacceptable", "acceptable"), ("sentence",)),
        _glue("mnli", "accuracy", _MNLI, ("premise", "hypothesis"), _PAIR, split="validation_matched"),
        _glue("mnli-mm", "accuracy", _MNLI, ("premise", "hypothesis"), _PAIR, split="validation_mismatched",
              config="mnli"),
        _glue("mrpc", "f1", ("not_equivalent", "equivalent"), _PAIR),
        _glue("qnli", "accuracy", _ENTAILMENT, ("question", "sentence"), _PAIR),
        _glue("qqp", "f1", ("not_duplicate", "duplicate"), ("question1", "question2"), _PAIR),
        _glue("rte", "accuracy", _ENTAILMENT, _PAIR),
        _glue("sst2", "accuracy", ("negative", "positive"), ("sentence",)),
        _glue("stsb", "pearson", None, _PAIR),
    )
}  # fmt: skip
_KINDS = {
    "classification": Task("classification", "classification", (_PAIR, ("sentence",), ("text",)), "label", "accuracy"),
    "regression": Task("regression", "regression", (_PAIR, ("sentence",), ("text",)), "label", "pearson"),
    "token-classification": Task("token-classification", "token-classification", (("tokens",), ("words",)), "tags",
                                 "accuracy"),
    "multiple-choice": Task("multiple-choice", "multiple-choice", (), "label", "accuracy"),
    "masked-lm": Task("masked-lm", "masked-lm", (("text",), ("sentence",)), None, "loss"),
    "causal-lm": Task("causal-lm", "causal-lm", (("text",), ("sentence",)), None, "loss"),
    "translation": Task("translation", "translation", (("source", "target"),), None, "bleu"),
}  # fmt: skip


def find_task(
    name: str,
    *,
    texts: Iterable[str] | None = None,
    label: str | None = None,
    names: Iterable[str] | None = None,
    metric: str | None = None,
) -> Task:
    """A GLUE task or a kind of task by name, with other columns, label names or metric where they are given."""
    known = GLUE | _KINDS
    if name not in known:
        raise InvalidOption(f"got the task {name!r}; expected one of {', '.join(known)}")
    task = known[name]
    if texts is not None:
        task = replace(task, texts=(tuple(texts),))
    if label is not None:
        task = replace(task, label=label)
    if names is not None:
        task = replace(task, given=tuple(names))
        if not task.given:
            raise InvalidOption("got --labels without a name; expected names of classes, such as negative positive")
    if metric is not None:
        task = replace(task, metric=metric)
    if not task.texts:
        raise InvalidOption(f"the task {name!r} needs the names of its text columns: the context, then each choice")
    return task
