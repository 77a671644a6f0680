"""Labels of a table as the model numbers its classes: by name, by code, or by what the user says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from headcount.core.options import without_effect
from headcount.data.row_numbers import name_row
from headcount.errors import DataProblem, listed, short


@dataclass(frozen=True)
class LabelColumn:
    """The label column of a table, with the names of its codes: those of the task, of the user, and of the model."""

    column: pd.Series
    names: tuple[str, ...] | None
    given: tuple[str, ...] | None
    id2label: Mapping[int, str]

    def where(self, number: int) -> str:
        """The row of a label, for a message."""
        return name_row(self.column.attrs, self.column.index[number])

    def numbers(self) -> np.ndarray:
        """Finite numbers."""
        return _numbers(self.column)

    def codes(self, count: int, expected: str) -> np.ndarray:
        """Whole numbers from 0 to `count` - 1; `expected` says of what."""
        numbers = self.numbers()
        _check_range(numbers, count, expected, self.column)
        return numbers.astype(int)

    def classes(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """Class numbers of the model, and what the user should know of them."""
        return match_labels(self.column, self.names, self.id2label, self.given)

    def class_lists(self, what: str, expected: str) -> tuple[list[list[int]], tuple[str, ...]]:
        """Class numbers of the model where each cell is a list of labels; a message calls them `what`."""
        for number, cell in enumerate(self.column):
            if not isinstance(cell, np.ndarray | list):
                raise DataProblem(f"{self.where(number)}: got {what} {short(cell)}; expected {expected}")
        sizes = [len(cell) for cell in self.column]
        flat = pd.Series([label for cell in self.column for label in cell], index=np.repeat(self.column.index, sizes))
        flat.attrs = self.column.attrs
        numbers, notes = match_labels(flat, self.names, self.id2label, self.given)
        return [part.tolist() for part in np.split(numbers, np.cumsum(sizes)[:-1])], notes


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
    """Names of classes as a list in a message: of many, or of long ones, the first."""
    known = list(map(str, names))
    return known if len(", ".join(known)) <= 80 else [known[0][:40], "..."]


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
    said = f" or those of labels= ({listed(given)})" if given else ""
    example = _example(found if len(found) == len(id2label) else [found[0], "..."])
    raise DataProblem(
        f"the data's labels ({listed(found)}) are not the model's classes ({listed(id2label.values())}){said}; "
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
