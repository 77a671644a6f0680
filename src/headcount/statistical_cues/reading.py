"""The examples whose cues are counted: the choices of multiple-choice data, or the texts of a classification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from headcount.ablation.job import Data, read_data
from headcount.core.options import no_repeats, without_effect
from headcount.core.provenance import fingerprint
from headcount.data.blank_rows import leave_out_blank
from headcount.data.examples import Examples, read_examples
from headcount.data.row_numbers import source_of
from headcount.data.tasks import GLUE, Task, find_glue, find_task
from headcount.errors import DataProblem, InvalidOption, listed, short
from headcount.training.parts import join_texts

CONTEXT = "context of the choices"
"""The name of the column that holds the context, joined from those that the user names."""
SIDES = ("both", "first", "second")


@dataclass(frozen=True)
class CueTask:
    """A task, and for multiple choice the columns of its choices and of their context."""

    task: Task
    choices: tuple[str, ...] = ()
    context: tuple[str, ...] = ()

    def prepare(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with the columns that the task reads."""
        if not self.choices:
            return table
        missing = [name for name in (*self.context, *self.choices) if name not in table.columns]
        if missing:
            raise DataProblem(f"no column {listed(missing)}; {source_of(table)} has {listed(table.columns)}")
        # As `headcount partial` joins them: a model that was fine-tuned there reads the same here.
        rows = zip(*(table[name] for name in self.context), strict=True) if self.context else [()] * len(table)
        return table.assign(**{CONTEXT: pd.Series(map(join_texts, rows), table.index, dtype=object)})


@dataclass(frozen=True)
class CueData:
    """Examples as cues see them: `texts` are the choices, or those texts of a classification that are looked at.

    `labels` are numbers of choices or of classes, `names` the columns of the choices or the names of the classes.
    """

    examples: Examples
    texts: list[tuple[str, ...]]
    labels: np.ndarray
    names: list[str]
    is_choice: bool
    side: str = ""

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def fingerprint(self) -> str:
        return fingerprint([self.examples.ids, self.texts, self.labels])

    @property
    def majority(self) -> float:
        """The share of the most frequent label."""
        return float(np.bincount(self.labels).max() / len(self.labels))


@dataclass(frozen=True)
class SplitOnSpace:
    """Stands for a tokenizer where there is no model: a text is blank if it is nothing but white space."""

    all_special_ids: list[int] = field(default_factory=list)
    unk_token_id: int | None = None
    mask_token_id: int | None = None

    def __call__(self, texts: list[str], **_: Any) -> dict[str, list[list[int]]]:
        return {"input_ids": [[1] if text.strip() else [] for text in texts]}


def find_cue_task(
    data: Data,
    task: str | Task | None,
    choices: Iterable[str] | None,
    text: Iterable[str] | None,
    label: str | None,
    labels: Iterable[str] | None,
    modelled: bool,
) -> CueTask:
    """The task that the options describe; `modelled`: a model reads the examples too."""
    if choices is None:
        found = _find_task(data, task, text, label, labels)
        if not found.kind.has_choices:
            return CueTask(found)
        context, *rest = found.texts[0]
        return _choices(tuple(rest), (context,), found.label, modelled=True)
    if isinstance(task, Task) or (task is not None and not find_task(task, text=("a", "b", "c")).kind.has_choices):
        name = task.name if isinstance(task, Task) else task
        without_effect("choices", choices, f"the task {name} says what is read", "leave one of the two out")
    without_effect("labels", labels, "a label is the number of a choice")
    if not modelled:
        without_effect("text", text, "cues are counted in the choices, and a context is for a model")
    return _choices(tuple(choices), tuple(text or ()), label, modelled)


def _find_task(
    data: Data, task: str | Task | None, text: Iterable[str] | None, label: str | None, labels: Iterable[str] | None
) -> Task:
    if isinstance(task, Task):
        for option, value in (("text", text), ("label", label), ("labels", labels)):
            without_effect(option, value, "task= is a Task, which has columns of its own")
        found = task
    else:
        glue = find_glue(data)
        name = task or (glue.name if glue is not None else "classification")
        found = find_task(name, text=text, label=label, labels=labels)
    kind = found.kind
    if not kind.has_choices and (not kind.named_classes or kind.label_lists):
        expected = ", ".join(name for name, each in GLUE.items() if each.kind.named_classes)
        raise InvalidOption(
            f"got the task {found.name}; cues are counted for labels that are classes or choices: {expected}, "
            "classification or multiple-choice"
        )
    return found


def _choices(choices: tuple[str, ...], context: tuple[str, ...], label: str | None, modelled: bool) -> CueTask:
    if len(choices) < 2:
        raise InvalidOption(
            f"got one choice ({listed(choices)}); expected the columns of at least two, such as a and b"
        )
    no_repeats("choices", choices)
    if modelled and not context:
        raise InvalidOption("a model needs the context of the choices: name its columns with text=")
    return CueTask(find_task("multiple-choice", text=(CONTEXT, *choices), label=label), choices, context)


def read_cue_data(
    data: Data,
    cue_task: CueTask,
    side: str | None,
    limit: int | None,
    seed: int,
    id2label: Mapping[int, str] | None = None,
    tokenizer: Any = None,
) -> CueData:
    """The examples, without blank rows; `id2label`: the classes of a model that reads them too."""
    task = cue_task.task
    table = cue_task.prepare(read_data(data, task))
    task, _ = task.with_label(table)
    if not cue_task.choices and id2label is None:
        names = class_names(table[str(task.label)], task)
        id2label = dict(enumerate(names))
        task = replace(task, names=tuple(names), user_labels=None)
    if tokenizer is None and _may_be_blank(table, task.columns(table)):
        table = leave_out_blank(table, task.columns(table), task.kind, SplitOnSpace())
    examples = read_examples(table, task, id2label, limit, seed, tokenizer)
    labels = np.asarray(examples.labels)
    if cue_task.choices:
        texts = [text[1:] for text in examples.texts]
        _check_choices(texts, labels, cue_task.choices)
        return CueData(examples, texts, labels, list(cue_task.choices), True)
    names = [str(name) for _, name in sorted((id2label or {}).items())]
    if len(np.unique(labels)) < 2:
        raise DataProblem(
            f"{source_of(table)}: all {len(labels):,} examples have the label {short(names[labels[0]])}; expected at "
            "least two labels, as nothing can be told from one"
        )
    chosen = _columns_of_side(examples, side)
    return CueData(examples, [text[chosen] for text in examples.texts], labels, names, False, side or "")


def _may_be_blank(table: pd.DataFrame, columns: tuple[str, ...]) -> bool:
    """Whether any row has nothing but blank texts: a look at whole columns, as most tables have none."""
    blank = np.ones(len(table), dtype=bool)
    for name in columns:
        blank &= (table[name].isna() | (table[name].astype(str).str.strip() == "")).to_numpy()
    return bool(blank.any())


def class_names(column: pd.Series, task: Task) -> list[str]:
    """The names of the classes: the user's, the task's, or the labels themselves."""
    named = task.user_labels or task.names
    if named is not None and (pd.api.types.is_numeric_dtype(column) or set(column.dropna()) <= set(named)):
        return [str(name) for name in named]
    if task.user_labels is not None:
        unknown = sorted({str(value) for value in column.dropna()} - set(task.user_labels))
        raise DataProblem(
            f"the data have the labels {listed(unknown)}; expected those of labels=: {listed(named or ())}"
        )
    if not pd.api.types.is_numeric_dtype(column):
        # Spelling in upper and lower case makes no other class, as elsewhere.
        return sorted({str(value).lower(): str(value) for value in sorted(column.dropna().astype(str))}.values())
    values = column.dropna()
    most = int(values.max()) if len(values) and np.isfinite(values.max()) else 0
    return [str(number) for number in range(max(0, min(most, len(values))) + 1)]


def _columns_of_side(examples: Examples, side: str | None) -> slice:
    if side is not None and side not in SIDES:
        raise InvalidOption(f"got side={side!r}; expected one of {', '.join(SIDES)}")
    if len(examples.texts[0]) < 2:
        without_effect("side", side, "the examples are single texts, not pairs")
        return slice(None)
    return {"both": slice(None), "first": slice(0, 1), "second": slice(1, 2)}[side or "both"]


def _check_choices(texts: Sequence[tuple[str, ...]], labels: np.ndarray, columns: Sequence[str]) -> None:
    same = sum(len(set(choices)) == 1 for choices in texts)
    if same == len(texts):
        raise DataProblem(
            f"in all {same:,} examples the choices {listed(columns)} are the same text; expected choices that differ"
        )
    if len(np.unique(labels)) < 2:
        raise DataProblem(
            f"all {len(labels):,} examples have the label {labels[0]}, the choice {columns[labels[0]]!r}; expected at "
            "least two labels: shuffle the choices, and the labels with them"
        )
