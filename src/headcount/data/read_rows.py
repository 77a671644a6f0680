"""The rows of a table as a task takes them: queries with their documents, whatever the layout."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from headcount.data.beir import is_beir, read_beir
from headcount.data.in_memory import InMemory
from headcount.data.judged_tables import arrange_queries
from headcount.data.tables import read_table
from headcount.data.tasks import Task


def read_rows(
    source: str | Path | InMemory, task: Task, split: str = "validation", own: str | None = None
) -> pd.DataFrame:
    """Like `read_table`, for a task."""
    if task.kind.has_documents and isinstance(source, str | Path) and is_beir(source):
        return arrange(read_beir(source, split, task.kind.candidates), task)
    return arrange(read_table(source, split, own), task)


def arrange(table: pd.DataFrame, task: Task) -> pd.DataFrame:
    """A table in any layout of the task's, with one row for each example."""
    return arrange_queries(table, task) if task.kind.has_documents else table
