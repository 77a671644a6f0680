"""Examples: the texts and labels of a table, checked, with labels as class numbers of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.blank_rows import is_absent, known_blank, leave_out_blank
from headcount.data.kinds.texts import Texts
from headcount.data.labels import LabelColumn
from headcount.data.row_numbers import name_row
from headcount.data.source_notes import notes_of
from headcount.data.tasks import Task
from headcount.errors import DataProblem, short


@dataclass(frozen=True)
class Examples:
    """Texts (a tuple of strings each, or of lists of words) and labels of the rows `ids` of a table.

    `labels` are class numbers of the model, numbers for a regression, lists of class numbers for tokens,
    target texts for a translation, and None if the text is its own label.
    """

    task: Task
    ids: np.ndarray
    texts: list[tuple[Any, ...]]
    labels: Any
    notes: tuple[str, ...] = ()
    blank: Mapping[str, Any] = field(default_factory=dict)
    """The blank rows that were left out of the table: their count, of how many, the numbers of the first."""
    attrs: Mapping[Any, Any] = field(default_factory=dict, repr=False)
    """The table's attributes, which say where the rows came from."""

    def where(self, number: int) -> str:
        """The row of an example, for a message."""
        return name_row(self.attrs, self.ids[number])

    def __len__(self) -> int:
        return len(self.ids)


def read_examples(
    table: pd.DataFrame,
    task: Task,
    id2label: Mapping[int, str] | None,
    limit: int | None = None,
    seed: int = 0,
    tokenizer: Any = None,
    labelled: bool = True,
) -> Examples:
    """The examples of a table; with `limit` a random sample of that size, the same for the same seed.

    With a tokenizer, blank rows are left out before the sample is drawn. Not `labelled`: labels are neither needed nor
    read, and those of the examples stand in for them.
    """
    columns = task.columns(table)
    task, label_notes = task.with_label(table) if labelled else (replace(task, label=None), ())
    if tokenizer is None:
        table = draw_rows(table, limit, seed)
    else:
        table = draw_present_rows(table, columns, task.kind, tokenizer, limit, seed)
    table = task.with_lists(table)
    texts = _texts(table, columns, task)
    column = None
    if task.label is not None:
        column = LabelColumn(table[task.label], task.names, task.user_labels, id2label or {})
    labels, notes = task.kind.read_labels(column, texts) if labelled else (task.kind.stand_ins(texts), ())
    texts = task.kind.input_texts(texts)
    notes = notes_of(table.attrs) + label_notes + notes
    return Examples(task, table.index.to_numpy(), texts, labels, notes, known_blank(table), table.attrs)


def draw_rows(table: pd.DataFrame, limit: int | None, seed: int) -> pd.DataFrame:
    """A random sample of at most `limit` rows, in their order, the same for the same seed."""
    if limit is None or limit >= len(table):
        return table
    return table.iloc[np.sort(np.random.default_rng(seed).permutation(len(table))[:limit])]


def draw_present_rows(
    table: pd.DataFrame, columns: tuple[str, ...], kind: Texts, tokenizer: Any, limit: int | None, seed: int
) -> pd.DataFrame:
    """A random sample, like `draw_rows`, of the rows that are not blank."""
    table = draw_rows(leave_out_blank(table, columns, kind, tokenizer), limit, seed)
    return leave_out_blank(table, columns, kind, tokenizer, drawn=True)


def _texts(table: pd.DataFrame, columns: tuple[str, ...], task: Task) -> list[tuple[Any, ...]]:
    texts = []
    lists = [task.kind.is_list(number) for number in range(len(columns))]
    for row, values in zip(table.index, table[list(columns)].itertuples(index=False, name=None), strict=True):
        if any(lists):
            values = tuple(list(value) if isinstance(value, np.ndarray | list) else value for value in values)
        elif len(columns) > 1:  # one text of a pair may be absent
            values = tuple("" if is_absent(value) else value for value in values)
        for column, value, words in zip(columns, values, lists, strict=True):
            right = (
                isinstance(value, list) and all(isinstance(word, str) for word in value)
                if words
                else isinstance(value, str)
            )
            if not right:
                expected = f"a list of {'words' if task.kind.words else 'strings'}" if words else "a string"
                where = name_row(table.attrs, row)
                raise DataProblem(f"{where}, column {short(column)}: got {short(value)}; expected {expected}")
        texts.append(values)
    return texts
