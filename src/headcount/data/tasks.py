"""Tasks: which columns hold the texts and the label, what the label's codes mean, and the metric."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import pandas as pd

from headcount.core.options import without_effect
from headcount.core.renamed import renamed
from headcount.data.kinds.catalogue import KINDS
from headcount.data.kinds.kind import Kind
from headcount.data.row_numbers import source_of
from headcount.data.tables import read_list
from headcount.errors import DataProblem, InvalidOption, listed, short


@dataclass(frozen=True)
class Task:
    """What to read and how to score it.

    `texts` are the possible names of the text columns, of which the first that the table has are taken: one column or
    two for a pair, the context and then each choice for multiple choice, source and target for a translation. `names`
    are the meanings of the label's codes 0, 1, ..., if they are known.
    """

    name: str
    kind: Kind
    texts: tuple[tuple[str, ...], ...]
    label: str | None
    metric: str
    names: tuple[str, ...] | None = None
    hub: tuple[str, str, str] | None = None
    user_labels: tuple[str, ...] | None = None
    """Names that the user gave: of the label's codes, in the model's words, or, if the model's classes have no names of
    their own (LABEL_0, ...), of these classes in their order."""
    further: tuple[str, ...] = ()
    """Metrics that papers report in addition to the task's own."""
    counterpart: tuple[str, ...] | None = None
    """The columns of a second input, which take the place of the first text columns; None for `counterpart`."""
    default_metric: bool = True
    """Whether the metric is the task's own, not one that the user named."""
    wrong: str | None = None
    """The column of wrong answers; None for `wrong`, if the table has it."""

    def for_model(self, model: Any) -> Task:
        """The task as this model does it."""
        return replace(self, kind=self.kind.for_model(model))

    def columns(self, table: pd.DataFrame) -> tuple[str, ...]:
        """The text columns of this table."""
        for names in self.texts:
            if set(names) <= set(table.columns):
                return names
        # Of one set of columns those that are missing are enough; of several, each is named as a whole.
        wanted = self.texts if len(self.texts) > 1 else ([name for name in self.texts[0] if name not in table.columns],)
        expected = " or ".join(" and ".join(names) for names in wanted)
        present = f"{source_of(table)} has {listed(table.columns)}"
        raise DataProblem(f"no column {expected} for {self.name}; {present}: name its text columns with text=")

    def with_lists(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with its lists, which a csv file holds as text, if the kind of task has lists."""
        columns = [name for number, name in enumerate(self.columns(table)) if self.kind.is_list(number)]
        if self.kind.label_lists and self.label in table.columns:
            columns.append(str(self.label))
        return table if not columns else table.assign(**{name: table[name].map(read_list) for name in columns})

    def with_label(self, table: pd.DataFrame) -> tuple[Task, tuple[str, ...]]:
        """The task with this table's label column, which may have one of several usual names, and a note about it."""
        if self.label is None or self.label in table.columns:
            return self, ()
        usual = self.kind.label_columns
        present = [name for name in usual if name in table.columns] if self.label == usual[0] else []
        if len(present) == 1:
            return replace(self, label=present[0]), (f"the {self.label} are those of the column {present[0]!r}",)
        known = f"{source_of(table)} has {listed(present or table.columns)}"
        raise DataProblem(f"no label column {short(self.label)}; {known}: name one with label=")


def _glue(
    name: str,
    metric: str,
    names: tuple[str, ...] | None,
    *texts: tuple[str, ...],
    split: str = "validation",
    config: str | None = None,
    further: tuple[str, ...] = (),
) -> Task:
    kind = KINDS["classification" if names else "regression"]
    return Task(name, kind, texts, "label", metric, names, ("nyu-mll/glue", config or name, split), None, further)


_PAIR, _ENTAILMENT = ("sentence1", "sentence2"), ("entailment", "not_entailment")
_MNLI = ("entailment", "neutral", "contradiction")
GLUE = {
    task.name: task
    for task in (
        _glue("cola", "matthews", ("unacceptable", "acceptable"), ("sentence",)),
        _glue("mnli", "accuracy", _MNLI, ("premise", "hypothesis"), _PAIR, split="validation_matched"),
        _glue(
            "mnli-mm", "accuracy", _MNLI, ("premise", "hypothesis"), _PAIR, split="validation_mismatched", config="mnli"
        ),
        _glue("mrpc", "f1", ("not_equivalent", "equivalent"), _PAIR, further=("accuracy",)),
        _glue("qnli", "accuracy", _ENTAILMENT, ("question", "sentence"), _PAIR),
        _glue("qqp", "f1", ("not_duplicate", "duplicate"), ("question1", "question2"), _PAIR, further=("accuracy",)),
        _glue("rte", "accuracy", _ENTAILMENT, _PAIR),
        _glue("sst2", "accuracy", ("negative", "positive"), ("sentence",)),
        _glue("stsb", "pearson", None, _PAIR, further=("spearman",)),
    )
}
_ALSO = {"mnlim": "mnli", "mnlimatched": "mnli", "mnlimismatched": "mnli-mm"}
"""Other names of GLUE tasks, as `plain_name` writes them."""


def plain_name(name: str) -> str:
    """A task's name in the spelling that is compared.

    >>> plain_name("STS-B"), plain_name("sst2") == plain_name("SST-2")
    ('stsb', True)
    """
    return name.strip().lower().replace("-", "").replace("_", "").replace(" ", "")


def find_glue(name: object) -> Task | None:
    """The GLUE task with this name in any spelling, if there is one."""
    return next(
        (task for task in GLUE.values() if isinstance(name, str) and plain_name(name) == plain_name(task.name)), None
    )


def _task_of(kind: Kind) -> Task:
    """The default task of a kind, with its usual columns and first metric."""
    label = kind.label_columns[0] if kind.label_columns else None
    return Task(kind.name, kind, kind.text_columns, label, kind.metrics[0].name)


def read_options(name: str) -> tuple[str, dict[str, str]]:
    """A task's name, and the options of its kind that follow it.

    >>> read_options("similarity,pooling=first"), read_options("mrpc")
    (('similarity', {'pooling': 'first'}), ('mrpc', {}))
    """
    name, *words = name.split(",")
    options: dict[str, str] = {}
    for word in words:
        option, equals, value = word.partition("=")
        if not equals or option in options:
            raise InvalidOption(
                f"got {short(word)} behind the task {short(name)}; expected each option once, such as "
                "'similarity,pooling=first' (a text with a comma can be given in Python: hc.find_task)"
            )
        options[option.strip()] = value
    return name, options


def spell_task(task: Task) -> dict[str, Any]:
    """What `find_task` made this task of: its name, the columns that were named, and the options of its kind.

    >>> spell_task(find_task("similarity,pooling=first", label="score"))
    {'name': 'similarity', 'label': 'score', 'pooling': 'first'}
    """
    usual = find_task(task.name) if task.name in GLUE else _task_of(KINDS[task.name])
    text = {} if task.texts == usual.texts else {"text": list(task.texts[0])}
    label = {} if task.label == usual.label else {"label": task.label}
    return {"name": task.name, **text, **label, **task.kind.own_options()}


@renamed(texts="text=", names="labels=")
def find_task(
    name: str,
    *,
    text: Iterable[str] | None = None,
    label: str | None = None,
    labels: Iterable[str] | None = None,
    metric: str | None = None,
    counterpart: Iterable[str] | None = None,
    wrong: str | None = None,
    **options: Any,
) -> Task:
    """A GLUE task or a kind of task by name, with other columns, label names or metric if given.

    `text`: the text columns. `label`: the label column. `labels`: what the label's codes 0, 1, ... mean, in the
    model's words. `counterpart`: the columns of a second input, for patching, which take the place of the first text
    columns (`counterpart` by default). `wrong`: the column of wrong answers (`wrong`). `options`: those of the kind of
    task, which may also follow its name (`"similarity,pooling=first"`): `pooling` and `prompt` of similarity;
    `pooling`, `query_prompt`, `document_prompt` and `candidates` of retrieval; `candidates` of reranking. The result
    can be passed as `task=` to every function that takes one.
    """
    name, spelled_options = read_options(name)
    known = GLUE | {kind.name: _task_of(kind) for kind in KINDS.values()}
    spelled = {plain_name(known_name): known_name for known_name in known} | _ALSO
    spelled |= {plain_name(alias): kind.name for kind in KINDS.values() for alias in kind.aliases}
    if plain_name(name) not in spelled:
        near = get_close_matches(plain_name(name), spelled, 1)
        meant = f"did you mean {spelled[near[0]]}? Expected" if near else "expected"
        raise InvalidOption(f"got the task {short(name)}; {meant} one of {', '.join(known)}")
    task = known[spelled[plain_name(name)]]
    options = spelled_options | options
    if options:
        task = replace(task, kind=task.kind.with_options(options))
    without_effect("label", label if task.label is None else None, f"{task.kind.name} has no label column")
    if not task.kind.named_classes:
        without_effect("labels", labels, f"{task.kind.name} has no classes to name")
    if text is not None:
        task = replace(task, texts=(tuple(text),))
    if label is not None:
        task = replace(task, label=label)
    if labels is not None:
        task = replace(task, user_labels=tuple(labels))
        if not task.user_labels:
            raise InvalidOption("got labels= without a name; expected names of classes, such as negative positive")
    if metric is not None:
        task = replace(task, metric=metric, default_metric=False)
    if counterpart is not None:
        task = replace(task, counterpart=(counterpart,) if isinstance(counterpart, str) else tuple(counterpart))
    if wrong is not None:
        task = replace(task, wrong=wrong)
    if not task.texts:
        raise InvalidOption(
            f"the task {name!r} needs the names of its text columns with text=: {task.kind.text_columns_hint}"
        )
    return task
