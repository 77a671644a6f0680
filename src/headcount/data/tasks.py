"""Tasks: which columns hold the texts and the label, what the label's codes mean, how a score is made of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches

import pandas as pd

from headcount.core.options import without_effect
from headcount.data.row_numbers import source_of
from headcount.data.tables import read_list
from headcount.errors import DataProblem, InvalidOption, listed, short

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
        known = f"{source_of(table)} has {listed(table.columns)}"
        raise DataProblem(f"no column {wanted} for {self.name}; {known}: name its text columns with --text")

    def with_lists(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with lists of words and tags, which a csv file holds as text."""
        if self.kind != "token-classification":
            return table
        columns = [name for name in (*self.columns(table), self.label) if name in table.columns]
        return table.assign(**{str(name): table[name].map(read_list) for name in columns})

    def with_label(self, table: pd.DataFrame) -> tuple[Task, tuple[str, ...]]:
        """The task with the label column of this table, and what to say of it: tags have many usual names."""
        if self.label is None or self.label in table.columns:
            return self, ()
        found = [name for name in TAGS if name in table.columns] if self.label == TAGS[0] else []
        if len(found) == 1:
            return replace(self, label=found[0]), (f"the tags are those of the column {found[0]!r}",)
        known = f"{source_of(table)} has {listed(found or table.columns)}"
        raise DataProblem(f"no label column {short(self.label)}; {known}: name one with --label")


def _glue(
    name: str,
    metric: str,
    names: tuple[str, ...] | None,
    *texts: tuple[str, ...],
    split: str = "validation",
    config: str | None = None,
) -> Task:
    kind = "classification" if names else "regression"
    return Task(name, kind, texts, "label", metric, names, ("nyu-mll/glue", config or name, split))


_PAIR, _ENTAILMENT = ("sentence1", "sentence2"), ("entailment", "not_entailment")
_MNLI = ("entailment", "neutral", "contradiction")
TAGS = ("tags", "ner_tags", "upos", "pos_tags", "labels", "label", "chunk_tags", "xpos")
"""What the column of a word's tags is called in data sets; the first is the default."""
GLUE = {
    task.name: task
    for task in (
        _glue("cola", "matthews", ("unacceptable", "acceptable"), ("sentence",)),
        _glue("mnli", "accuracy", _MNLI, ("premise", "hypothesis"), _PAIR, split="validation_matched"),
        _glue(
            "mnli-mm", "accuracy", _MNLI, ("premise", "hypothesis"), _PAIR, split="validation_mismatched", config="mnli"
        ),
        _glue("mrpc", "f1", ("not_equivalent", "equivalent"), _PAIR),
        _glue("qnli", "accuracy", _ENTAILMENT, ("question", "sentence"), _PAIR),
        _glue("qqp", "f1", ("not_duplicate", "duplicate"), ("question1", "question2"), _PAIR),
        _glue("rte", "accuracy", _ENTAILMENT, _PAIR),
        _glue("sst2", "accuracy", ("negative", "positive"), ("sentence",)),
        _glue("stsb", "pearson", None, _PAIR),
    )
}
_KINDS = {
    "classification": Task("classification", "classification", (_PAIR, ("sentence",), ("text",)), "label", "accuracy"),
    "regression": Task("regression", "regression", (_PAIR, ("sentence",), ("text",)), "label", "pearson"),
    "token-classification": Task(
        "token-classification", "token-classification", (("tokens",), ("words",)), "tags", "accuracy"
    ),
    "multiple-choice": Task("multiple-choice", "multiple-choice", (), "label", "accuracy"),
    "masked-lm": Task("masked-lm", "masked-lm", (("text",), ("sentence",)), None, "loss"),
    "causal-lm": Task("causal-lm", "causal-lm", (("text",), ("sentence",)), None, "loss"),
    "translation": Task("translation", "translation", (("source", "target"),), None, "bleu"),
}


_ALSO = {
    "mnlim": "mnli",
    "mnlimatched": "mnli",
    "mnlimismatched": "mnli-mm",
    "textclassification": "classification",
    "sequenceclassification": "classification",
    "ner": "token-classification",
    "pos": "token-classification",
    "fillmask": "masked-lm",
    "mlm": "masked-lm",
    "textgeneration": "causal-lm",
    "clm": "causal-lm",
}
"""Other names of tasks, as `plain_name` writes them."""


def plain_name(name: str) -> str:
    """A task's name as names are compared.

    >>> plain_name("STS-B"), plain_name("sst2") == plain_name("SST-2")
    ('stsb', True)
    """
    return name.strip().lower().replace("-", "").replace("_", "").replace(" ", "")


def find_glue(name: object) -> Task | None:
    """The GLUE task of that name in any spelling, if it is one."""
    return next(
        (task for task in GLUE.values() if isinstance(name, str) and plain_name(name) == plain_name(task.name)), None
    )


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
    spelled = {plain_name(one): one for one in known} | _ALSO
    if plain_name(name) not in spelled:
        near = get_close_matches(plain_name(name), spelled, 1)
        meant = f"did you mean {spelled[near[0]]}? Expected" if near else "expected"
        raise InvalidOption(f"got the task {short(name)}; {meant} one of {', '.join(known)}")
    task = known[spelled[plain_name(name)]]
    without_effect("label", label if task.label is None else None, f"{task.kind} has no label column")
    if task.kind not in ("classification", "token-classification"):
        without_effect("labels", names, f"{task.kind} has no classes to name")
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
        raise InvalidOption(
            f"the task {name!r} needs the names of its text columns: --text, the context, then each choice"
        )
    return task
