"""Blank rows, which have nothing to look at or to predict: by one rule for all verbs they are left out and counted.

A text is blank if it is absent (None, NaN), empty or white space, or if the tokenizer makes only special tokens of it.
A row is left out if all its texts are blank (one text of a pair or a multiple choice may be: it is read as empty); in a
translation if its source or its target is; in a tagging task if it has no words; for a causal language model also if it
has fewer than two tokens, for a masked one if it has no token to mask. The other rows keep their numbers.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.kinds.texts import Texts
from headcount.data.row_numbers import count_rows, source_of
from headcount.errors import BlankRows, DataProblem

ATTRIBUTE = "blank_rows"
"""Where a table (`DataFrame.attrs`) and a result store the rows that were left out: count, of how many, the first."""
KEPT, SHOWN = 20, 5
"""How many rows a result and a message name."""
LONG = 64
TWO_WORDS = re.compile(r"\w\W+\w")
"""A text of so many characters with two words is not blank; only others are given to the tokenizer to check."""


def leave_out_blank(
    table: pd.DataFrame, columns: tuple[str, ...], kind: Texts, tokenizer: Any, drawn: bool = False
) -> pd.DataFrame:
    """The table without its blank rows, with a warning that names them; one without any other row is refused.

    `kind`: a kind of task, or PLAIN for texts without a task. `drawn`: the table holds the rows that will be encoded,
    and the tokenizer checks every one; of a whole table it checks only those that may be blank.
    """
    blank = find_blank(table, columns, kind, tokenizer, drawn)
    before = known_blank(table)
    if blank.all():
        raise DataProblem(
            f"{source_of(table)}: all {len(table):,} rows are blank, with nothing to look at or to predict; expected "
            f"some text in {' and '.join(map(repr, columns))}"
        )
    left = table.iloc[~blank]
    rows = [int(row) for row in table.index[blank]]
    if rows:
        numbers = ", ".join(map(str, count_rows(table.attrs, rows[:SHOWN]))) + (", ..." if len(rows) > SHOWN else "")
        words = ("is", "was", "row") if len(rows) == 1 else ("are", "were", "rows")
        warnings.warn(
            f"{source_of(table)}: {len(rows):,} of {len(table):,} rows {words[0]} blank and {words[1]} left out "
            f"({words[2]} {numbers})",
            BlankRows,
            stacklevel=3,
        )
    left.attrs = table.attrs | {
        ATTRIBUTE: {
            "count": before["count"] + len(rows),
            "of": before["of"],
            "rows": sorted([*before["rows"], *rows])[:KEPT],
        }
    }
    return left


def known_blank(table: pd.DataFrame) -> dict[str, Any]:
    """How many rows were left out of the table, of how many, and the numbers of the first."""
    blank: dict[str, Any] = table.attrs.get(ATTRIBUTE, {"count": 0, "of": len(table), "rows": []})
    return blank


def is_absent(value: Any) -> bool:
    """
    >>> is_absent(None), is_absent(float("nan")), is_absent(""), is_absent(["a"])
    (True, True, False, False)
    """
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and bool(np.isnan(value)))


def find_blank(
    table: pd.DataFrame, columns: tuple[str, ...], kind: Texts, tokenizer: Any, every: bool = False
) -> np.ndarray:
    """Whether each row is blank; `every`: the tokenizer checks all rows."""
    together = np.any if kind.all_texts_needed else np.all
    cells = [
        [_as_text(value, kind.is_list(number)) for value in table[column]] for number, column in enumerate(columns)
    ]
    empty = np.array([[text is not None and not text.strip() for text in column] for column in cells])
    doubtful = np.array([[text is not None and (every or _may_be_blank(text)) for text in column] for column in cells])
    blank: np.ndarray = together(empty, axis=0)
    # What is no text is refused elsewhere, with its row.
    texts = np.array([[text is not None for text in column] for column in cells]).all(0)
    rows = np.flatnonzero(together(empty | doubtful, axis=0) & ~blank & texts)
    if len(rows):
        special = kind.special_ids(tokenizer)
        nothing = np.array(
            [
                [
                    len(ids) < kind.least_tokens or not set(ids) - special
                    for ids in kind.token_ids(tokenizer, _present(table[column].iloc[rows]), number)
                ]
                for number, column in enumerate(columns)
            ]
        )
        blank[rows] = together(nothing | empty[:, rows], axis=0)
    return blank


def _as_text(value: Any, words: bool) -> str | None:
    """A text, or a list of `words` as one; "" if it is absent, None if it is neither, which is refused elsewhere."""
    if is_absent(value):
        return ""
    if not words:
        return value if isinstance(value, str) else None
    listed = isinstance(value, list | np.ndarray) and all(isinstance(word, str) for word in value)
    return " ".join(value) if listed else None


def _may_be_blank(text: str) -> bool:
    return len(text) < LONG or TWO_WORDS.search(text) is None


def _present(values: Iterable[Any]) -> list[Any]:
    """The texts, with "" for those that are absent."""
    return ["" if is_absent(value) else value for value in values]
