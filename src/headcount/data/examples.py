"""Examples: the texts and labels of a table, checked, with labels as the model numbers them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from headcount.core.options import without_effect
from headcount.data.blank_rows import is_absent, known_blank, leave_out_blank
from headcount.data.row_numbers import name_row
from headcount.data.tasks import Task
from headcount.errors import DataProblem, listed, short


@dataclass(frozen=True)
class Examples:
    """Texts (a tuple of strings each, or of lists of words) and labels of the rows `ids` of a table.

    `labels` are class numbers of the model, numbers for a regression, lists of class numbers for tokens,
    target texts for a translation, and None where the text is its own label.
    """

    task: Task
    ids: np.ndarray
    texts: list[tuple[Any, ...]]
    labels: Any
    notes: tuple[str, ...] = ()
    blank: Mapping[str, Any] = field(default_factory=dict)
    """The rows of the table that were left out: their count, of how many, the numbers of the first."""
    attrs: Mapping[Any, Any] = field(default_factory=dict, repr=False)
    """Those of the table: where the rows came from."""

    def where(self, place: int) -> str:
        """The row of an example, for a message."""
        return name_row(self.attrs, self.ids[place])

    def __len__(self) -> int:
        return len(self.ids)


def read_examples(
    table: pd.DataFrame,
    task: Task,
    id2label: Mapping[int, str] | None,
    limit: int | None = None,
    seed: int = 0,
    tokenizer: Any = None,
) -> Examples:
    """The examples of a table; with `limit` a random part of that size, the same for the same seed.

    With a tokenizer, rows that are blank to it are left out before anything is drawn.
    """
    columns = task.columns(table)
    task, found = task.with_label(table)
    if tokenizer is None:
        table = draw_rows(table, limit, seed)
    else:
        table = draw_rows(leave_out_blank(table, columns, task.kind, tokenizer), limit, seed)
        table = leave_out_blank(table, columns, task.kind, tokenizer, drawn=True)
    table = task.with_lists(table)
    texts = _texts(table, columns, task)
    labels, notes = _labels(table, task, texts, id2label)
    if task.kind == "translation":
        texts = [(source,) for source, _ in texts]
    return Examples(task, table.index.to_numpy(), texts, labels, found + notes, known_blank(table), table.attrs)


def draw_rows(table: pd.DataFrame, limit: int | None, seed: int) -> pd.DataFrame:
    """A random part of at most `limit` rows, in their order, the same for the same seed."""
    if limit is None or limit >= len(table):
        return table
    return table.iloc[np.sort(np.random.default_rng(seed).permutation(len(table))[:limit])]


def _texts(table: pd.DataFrame, columns: tuple[str, ...], task: Task) -> list[tuple[Any, ...]]:
    found = []
    words = task.kind == "token-classification"
    for row, values in zip(table.index, table[list(columns)].itertuples(index=False, name=None), strict=True):
        if words:
            values = tuple(list(value) if isinstance(value, np.ndarray | list) else value for value in values)
        elif len(columns) > 1:  # one text of a pair may be absent
            values = tuple("" if is_absent(value) else value for value in values)
        for column, value in zip(columns, values, strict=True):
            right = (
                isinstance(value, list) and all(isinstance(word, str) for word in value)
                if words
                else isinstance(value, str)
            )
            if not right:
                expected = "a list of words" if words else "a string"
                where = name_row(table.attrs, row)
                raise DataProblem(f"{where}, column {short(column)}: got {short(value)}; expected {expected}")
        found.append(values)
    return found


def _labels(
    table: pd.DataFrame, task: Task, texts: list[tuple[Any, ...]], id2label: Mapping[int, str] | None
) -> tuple[Any, tuple[str, ...]]:
    if task.kind == "translation":
        return [target for _, target in texts], ()
    if task.label is None:
        return None, ()
    column = table[task.label]
    if task.kind == "regression":
        return _numbers(column), ()
    if task.kind == "multiple-choice":
        numbers = _numbers(column)
        choices = len(task.texts[0]) - 1
        _check_range(numbers, choices, f"{choices} choices", column)
        return numbers.astype(int), ()
    if task.kind == "token-classification":
        for row, tags in zip(table.index, column, strict=True):
            if not isinstance(tags, np.ndarray | list):
                where = name_row(table.attrs, row)
                raise DataProblem(f"{where}: got the tags {short(tags)}; expected a list, one for each word")
        rows = pd.Series(
            [tag for tags in column for tag in tags], index=np.repeat(table.index, [len(t) for t in column])
        )
        rows.attrs = table.attrs
        flat, notes = match_labels(rows, task.names, id2label or {}, task.given)
        ends = np.cumsum([len(tags) for tags in column])
        labels = np.split(flat, ends[:-1])
        for row, words, tags in zip(table.index, texts, labels, strict=True):
            if len(words[0]) != len(tags):
                got = f"{len(words[0])} words and {len(tags)} tags"
                raise DataProblem(f"{name_row(table.attrs, row)}: got {got}; expected one for each")
        return [tags.tolist() for tags in labels], notes
    return match_labels(column, task.names, id2label or {}, task.given)


def _numbers(column: pd.Series) -> np.ndarray:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    for row, value, number in zip(column.index, column, numbers, strict=True):
        if not np.isfinite(number):
            where = name_row(column.attrs, row)
            raise DataProblem(f"{where}: got the label {short(value)}; expected a finite number")
    return numbers


def match_labels(
    values: Iterable[Any],
    names: tuple[str, ...] | None,
    id2label: Mapping[int, str],
    given: tuple[str, ...] | None = None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The model's class numbers for labels given as names or as codes, and what the user should know of it.

    `names` are the task's meanings of the codes, `given` the user's. A model whose classes have names of their own is
    matched by them. One without (LABEL_0, LABEL_1, ...) is matched by what the user says its classes are; a task's
    codes are never taken for its class numbers, because models order them differently. Labels that are other words
    than the model's are matched by `given` if it has them all, one for each class in the model's order. What cannot be
    matched is an error that shows both sides.
    """
    column = values if isinstance(values, pd.Series) else pd.Series(list(values))
    if column.isna().any():
        first = name_row(column.attrs, column.index[column.isna()][0])
        raise DataProblem(f"{first}: the label is missing (NaN); expected a value in every row")
    model = {_spelled(label): int(number) for number, label in id2label.items()}
    unnamed = all(label == f"label_{number}" for label, number in model.items())
    if not pd.api.types.is_numeric_dtype(column):
        return _by_name(column, id2label, given), ()
    if unnamed and given is not None and not {_spelled(label) for label in given} <= set(model):
        if len(given) != len(id2label):
            raise DataProblem(
                f"got {len(given)} labels ({listed(given)}) for a model of {len(id2label)} classes; expected one "
                "for each class, in the model's order"
            )
        id2label = dict(enumerate(given))
    elif given is not None:
        names = given
    codes = _numbers(column)
    if (codes != codes.astype(int)).any():
        raise DataProblem(f"got the label {codes[codes != codes.astype(int)][0]}; expected whole numbers or names")
    codes = codes.astype(int)
    if unnamed and given is None and names is not None:
        raise DataProblem(
            f"the model's classes have no names ({listed(id2label.values())}), and models order {listed(names)} "
            f"differently; give the names in the order of its classes, such as --labels {' '.join(names)}"
        )
    if names is None:
        _check_range(codes, len(id2label), f"{len(id2label)} classes", column)
        return codes, ("labels are taken as the model's class numbers, as neither says what its codes mean",)
    _check_range(codes, len(names), f"{len(names)} classes: {listed(names)}", column)
    classes = {_spelled(label): int(number) for number, label in id2label.items()}
    if not {_spelled(names[code]) for code in codes} <= set(classes):
        raise DataProblem(
            f"the data's codes mean {listed(names)}, which are not the model's classes {listed(id2label.values())}; "
            f"say what 0, 1, ... mean in the model's words, such as --labels {' '.join(map(str, id2label.values()))}"
        )
    return np.array([classes[_spelled(names[code])] for code in codes], dtype=int), ()


def _spelled(label: Any) -> str:
    """A label's name as it is compared."""
    return str(label).lower().replace(" ", "_")


def _by_name(column: pd.Series, id2label: Mapping[int, str], given: tuple[str, ...] | None) -> np.ndarray:
    """Labels that are words: as the model calls its classes, or as the user says that the data calls them."""
    wanted = column.map(_spelled)
    for words in (id2label, dict(enumerate(given or ()))):
        classes = {_spelled(label): int(number) for number, label in words.items()}
        if set(wanted) <= set(classes) and len(words) == len(id2label):
            if words is id2label and [*map(_spelled, given or ())] not in ([], list(classes)):
                without_effect("labels", given, f"the data's labels are the model's classes ({listed(words.values())})")
            return wanted.map(classes).to_numpy(dtype=int)
    found = sorted(set(column.astype(str)))
    said = f" or those of --labels ({listed(given)})" if given else ""
    example = " ".join(map(shlex.quote, found)) if len(found) == len(id2label) else f"{found[0]} ..."
    raise DataProblem(
        f"the data's labels ({listed(found)}) are not the model's classes ({listed(id2label.values())}){said}; "
        f"give the {len(id2label)} labels in the order of its classes, such as --labels {example[:80]}"
    )


def _check_range(codes: np.ndarray, count: int, expected: str, column: pd.Series) -> None:
    wrong = (codes < 0) | (codes >= count)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise DataProblem(
            f"{name_row(column.attrs, column.index[place])}: got the label {int(codes[place])}; "
            f"expected 0 to {count - 1} ({expected})"
        )
