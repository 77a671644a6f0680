"""Labels of a table as class numbers of the model, matched by name, by code, or by names that the user gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from headcount.core.options import without_effect
from headcount.data.row_numbers import name_row
from headcount.data.tables import list_of
from headcount.errors import DataProblem, listed, short


@dataclass(frozen=True)
class LabelColumn:
    """The label column of a table, with the names of its codes: the task's, the user's and the model's."""

    column: pd.Series
    names: tuple[str, ...] | None
    user_labels: tuple[str, ...] | None
    id2label: Mapping[int, str]

    def where(self, number: int) -> str:
        """The row of a label, for a message."""
        return name_row(self.column.attrs, self.column.index[number])

    def numbers(self) -> np.ndarray:
        """The labels as finite numbers."""
        return _numbers(self.column)

    def number_lists(self) -> list[list[float]]:
        """The labels where each cell is a list of finite numbers."""
        sizes = [
            len(list_of(cell, str(self.column.name), self.where(n), " of numbers"))
            for n, cell in enumerate(self.column)
        ]
        flat = pd.Series([value for cell in self.column for value in cell], index=np.repeat(self.column.index, sizes))
        flat.attrs = self.column.attrs
        return [part.tolist() for part in np.split(_numbers(flat), np.cumsum(sizes)[:-1])]

    def codes(self, count: int, expected: str) -> np.ndarray:
        """The labels as integers from 0 to `count` - 1; a message calls these `expected`."""
        numbers = self.numbers()
        _check_range(numbers, count, expected, self.column)
        return numbers.astype(int)

    def classes(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """Class numbers of the model, and what the user should know about them."""
        return match_labels(self.column, self.names, self.id2label, self.user_labels)

    def class_lists(self, called: str, expected: str) -> tuple[list[list[int]], tuple[str, ...]]:
        """Class numbers of the model where each cell is a list of labels; a message calls a cell `called`."""
        for number, cell in enumerate(self.column):
            if not isinstance(cell, np.ndarray | list):
                raise DataProblem(f"{self.where(number)}: got {called} {short(cell)}; expected {expected}")
        sizes = [len(cell) for cell in self.column]
        flat = pd.Series([label for cell in self.column for label in cell], index=np.repeat(self.column.index, sizes))
        flat.attrs = self.column.attrs
        numbers, notes = match_labels(flat, self.names, self.id2label, self.user_labels)
        return [part.tolist() for part in np.split(numbers, np.cumsum(sizes)[:-1])], notes


def match_labels(
    values: Iterable[Any],
    names: tuple[str, ...] | None,
    id2label: Mapping[int, str],
    user_labels: tuple[str, ...] | None = None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """The model's class numbers for labels that are names or codes, and what the user should know about them.

    `names` are the task's meanings of the codes, `user_labels` the user's. A model whose classes have names of their
    own is matched by these. For one without (LABEL_0, LABEL_1, ...) the user has to name the classes; a task's codes
    are never taken for class numbers, because models order them differently. Labels with other names than the model's
    classes are matched by `user_labels`, if it has all of them, one for each class in the model's order. What cannot
    be matched is an error that shows both sides.
    """
    column = values if isinstance(values, pd.Series) else pd.Series(list(values))
    if column.isna().any():
        first = name_row(column.attrs, column.index[column.isna()][0])
        raise DataProblem(f"{first}: the label is missing (NaN); expected a value in every row")
    model = {_spelled(label): int(number) for number, label in id2label.items()}
    unnamed = all(label == f"label_{number}" for label, number in model.items())
    if not pd.api.types.is_numeric_dtype(column):
        return _by_name(column, id2label, user_labels), ()
    if unnamed and user_labels is not None and not {_spelled(label) for label in user_labels} <= set(model):
        if len(user_labels) != len(id2label):
            raise DataProblem(
                f"got {len(user_labels)} labels ({listed(user_labels)}) for a model of {len(id2label)} classes; "
                "expected one for each class, in the model's order"
            )
        id2label = dict(enumerate(user_labels))
    elif user_labels is not None:
        names = user_labels
    codes = _numbers(column)
    if (codes != codes.astype(int)).any():
        raise DataProblem(f"got the label {codes[codes != codes.astype(int)][0]}; expected whole numbers or names")
    codes = codes.astype(int)
    if unnamed and user_labels is None and names is not None:
        raise DataProblem(
            f"the model's classes have no names ({listed(id2label.values())}), and models order {listed(names)} "
            f"differently; give the names in the order of its classes, such as labels={_example(names)}"
        )
    if names is None:
        _check_range(codes, len(id2label), f"{len(id2label)} classes", column)
        return codes, ("labels are taken as the model's class numbers, as neither says what its codes mean",)
    _check_range(codes, len(names), f"{len(names)} classes: {listed(names)}", column)
    classes = {_spelled(label): int(number) for number, label in id2label.items()}
    if not {_spelled(names[code]) for code in codes} <= set(classes):
        raise DataProblem(
            f"the data's codes mean {listed(names)}, which are not the model's classes {listed(id2label.values())}; "
            f"say what 0, 1, ... mean in the model's words, such as labels={_example(id2label.values())}"
        )
    return np.array([classes[_spelled(names[code])] for code in codes], dtype=int), ()


def _example(names: Iterable[str]) -> list[str]:
    """Names of classes as a list for a message: only the first if there are many or long ones."""
    texts = list(map(str, names))
    return texts if len(", ".join(texts)) <= 80 else [texts[0][:40], "..."]


def _spelled(label: Any) -> str:
    """A label's name in the spelling that is compared."""
    return str(label).lower().replace(" ", "_")


def _by_name(column: pd.Series, id2label: Mapping[int, str], user_labels: tuple[str, ...] | None) -> np.ndarray:
    """Class numbers for labels that are names: the model's names of its classes, or the user's."""
    spelled = column.map(_spelled)
    for words in (id2label, dict(enumerate(user_labels or ()))):
        classes = {_spelled(label): int(number) for number, label in words.items()}
        if set(spelled) <= set(classes) and len(words) == len(id2label):
            if words is id2label and [*map(_spelled, user_labels or ())] not in ([], list(classes)):
                without_effect(
                    "labels", user_labels, f"the data's labels are the model's classes ({listed(words.values())})"
                )
            return spelled.map(classes).to_numpy(dtype=int)
    labels = sorted(set(column.astype(str)))
    named = f" or those of labels= ({listed(user_labels)})" if user_labels else ""
    example = _example(labels if len(labels) == len(id2label) else [labels[0], "..."])
    raise DataProblem(
        f"the data's labels ({listed(labels)}) are not the model's classes ({listed(id2label.values())}){named}; "
        f"give the {len(id2label)} labels in the order of its classes, such as labels={example}"
    )


def _check_range(codes: np.ndarray, count: int, expected: str, column: pd.Series) -> None:
    wrong = (codes < 0) | (codes >= count)
    if wrong.any():
        first = int(np.flatnonzero(wrong)[0])
        raise DataProblem(
            f"{name_row(column.attrs, column.index[first])}: got the label {int(codes[first])}; "
            f"expected 0 to {count - 1} ({expected})"
        )


def _numbers(column: pd.Series) -> np.ndarray:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float)
    for row, value, number in zip(column.index, column, numbers, strict=True):
        if not np.isfinite(number):
            where = name_row(column.attrs, row)
            raise DataProblem(f"{where}: got the label {short(value)}; expected a finite number")
    return numbers
