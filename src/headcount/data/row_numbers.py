"""The file and row that an error is about, counted from 1 as in an editor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

_KEY = "headcount_source"
_HEADERS = {".csv": 1, ".tsv": 1, ".jsonl": 0}
"""Lines before the first row, for files with a line for each row."""


def remember_source(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """The table with the name of its source, which its parts and columns inherit."""
    table.attrs[_KEY] = {"name": source, "rows": len(table)}
    return table


def source_of(table: pd.DataFrame) -> str:
    """The name of the file or data set that a table came from."""
    return str(table.attrs[_KEY]["name"]) if _KEY in table.attrs else "the table"


def name_row(attrs: Mapping[Any, Any], row: Any) -> str:
    """The name of a row of a table or column with these `attrs`: file, row and line; of a data frame, its index.

    >>> name_row({}, 7), name_row({_KEY: {"name": "pairs.parquet", "rows": 9}}, 2)
    ('row 7', 'pairs.parquet, row 3')
    """
    source = attrs.get(_KEY)
    if source is None:
        return f"row {row}"
    path = Path(source["name"])
    line = f" (line {row + 1 + _HEADERS[path.suffix]})" if _has_line_per_row(path, source["rows"]) else ""
    return f"{source['name']}, row {row + 1}{line}"


def count_rows(attrs: Mapping[Any, Any], rows: Iterable[int]) -> list[int]:
    """The numbers of rows as `name_row` gives them: from 1 if they come from a file, otherwise those of the index."""
    return [row + (_KEY in attrs) for row in rows]


def _has_line_per_row(path: Path, rows: int) -> bool:
    """Whether each row is a line: not if a text has line breaks, or if blank lines were skipped."""
    if path.suffix not in _HEADERS or not path.is_file():
        return False
    state = path.stat()
    return _count_lines(path, state.st_mtime_ns, state.st_size) == rows + _HEADERS[path.suffix]


@lru_cache(maxsize=4)
def _count_lines(path: Path, changed: int, size: int) -> int:
    """Counted once for a file as it is, since some readers name each of its rows."""
    with path.open("rb") as file:
        return sum(1 for _ in file)
