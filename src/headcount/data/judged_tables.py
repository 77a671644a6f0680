"""Tables of queries and judged documents, in the layouts that people have them, with one row for each query.

| layout | columns | row |
|---|---|---|
| lists | `query`, `documents` (strings), `relevance` (numbers) | a query |
| relevant and other ones | `query`, `positive`, `negative` (strings) | a query |
| pairs | `query`, `document`, `relevance` (a number) | a judgement |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from headcount.data.blank_rows import is_absent
from headcount.data.row_numbers import name_row, source_of
from headcount.data.source_notes import add_notes
from headcount.data.tables import list_of, read_list
from headcount.data.tasks import Task
from headcount.errors import DataProblem

POSITIVE, NEGATIVE = "positive", "negative"
DOCUMENTS, RELEVANCE = "documents", "relevance"


def arrange_queries(table: pd.DataFrame, task: Task) -> pd.DataFrame:
    """One row for each query that has a relevant document, numbered by its first row in the table."""
    if (
        {POSITIVE, NEGATIVE} <= set(table.columns)
        and DOCUMENTS not in table.columns
        and task.texts == task.kind.text_columns
    ):
        table = _joined(table)
    query, documents = _two_columns(table, task)
    label = _label_column(table, task)
    if not any(isinstance(read_list(cell), list | tuple | np.ndarray) for cell in table[documents]):
        table = _grouped(table, query, documents, label)
    return table if label is None else _with_relevant(table, label)


def _two_columns(table: pd.DataFrame, task: Task) -> tuple[str, str]:
    columns = task.columns(table)
    if len(columns) != 2:
        raise DataProblem(
            f"got {len(columns)} text column for {task.kind.name}; expected two, the query and its documents: name "
            "both with text="
        )
    return columns[0], columns[1]


def _label_column(table: pd.DataFrame, task: Task) -> str | None:
    """The column of judgements; None without one, which is an error later where labels are needed."""
    if task.label in table.columns:
        return task.label
    usual = [name for name in task.kind.label_columns if name in table.columns]
    return usual[0] if len(usual) == 1 and task.label == task.kind.label_columns[0] else None


def _joined(table: pd.DataFrame) -> pd.DataFrame:
    """Of the lists of relevant and other documents, one list with its judgements."""
    pairs = [
        [_texts(cell, name, name_row(table.attrs, row)) for name, cell in ((POSITIVE, positive), (NEGATIVE, negative))]
        for row, positive, negative in zip(table.index, table[POSITIVE], table[NEGATIVE], strict=True)
    ]
    lists: dict[str, Any] = {
        DOCUMENTS: [[*good, *bad] for good, bad in pairs],
        RELEVANCE: [[1.0] * len(good) + [0.0] * len(bad) for good, bad in pairs],
    }
    return table.assign(**lists)


def _texts(cell: Any, column: str, where: str) -> list[Any]:
    """A list of texts, or the one text that a cell is; none where it is absent."""
    if is_absent(cell):
        return []
    cell = read_list(cell)
    return [cell] if isinstance(cell, str) else list_of(cell, column, where, " of documents")


def _grouped(table: pd.DataFrame, query: str, documents: str, label: str | None) -> pd.DataFrame:
    """One row for each query, from one for each judgement."""
    rows: dict[Any, list[int]] = {}
    for number, text in enumerate(table[query]):
        # A row without a query stays alone, and is counted with the blank ones.
        rows.setdefault(text if isinstance(text, str) and text.strip() else number, []).append(number)
    first = table.iloc[[numbers[0] for numbers in rows.values()]]
    texts = ["" if is_absent(text) else text for text in table[documents]]
    lists: dict[str, Any] = {documents: [[texts[number] for number in numbers] for numbers in rows.values()]}
    if label is not None:
        lists[label] = [table[label].iloc[numbers].tolist() for numbers in rows.values()]
    grouped = first.assign(**lists)
    grouped.attrs = dict(table.attrs)
    return grouped


def _with_relevant(table: pd.DataFrame, label: str) -> pd.DataFrame:
    """The queries without which no ranking can be right or wrong are left out, and counted in a note."""
    lists = [read_list(cell) for cell in table[label]]
    # What is no list of numbers is reported later, with its row.
    without = np.array(
        [
            isinstance(cell, list | tuple | np.ndarray)
            and all(isinstance(value, int | float | np.number) and value <= 0 for value in cell)
            for cell in lists
        ],
        dtype=bool,
    )
    if without.all() and len(table):
        raise DataProblem(
            f"{source_of(table)}: no query has a relevant document (a judgement above 0 in {label!r}); expected some"
        )
    if not without.any():
        return table
    count = int(without.sum())
    left = table[~without]
    left.attrs = dict(table.attrs)
    are = "query has no relevant document and is" if count == 1 else "queries have no relevant document and are"
    return add_notes(left, [f"{count:,} {are} left out"])
