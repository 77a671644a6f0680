"""Which tables are queries with documents, and which stay as they are?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from headcount.data.read_rows import arrange, read_rows
from headcount.data.tasks import find_task
from headcount.errors import DataProblem
from tests.data.test_beir import write


def test_a_folder_of_beir_is_queries_for_tasks_with_documents_alone(tmp_path: Path) -> None:
    folder = write(tmp_path)
    assert [len(documents) for documents in read_rows(folder, find_task("retrieval,candidates=4"))["documents"]] == [
        4,
        4,
    ]
    with pytest.raises(DataProblem, match="has no validation file"):
        read_rows(folder, find_task("similarity"))


def test_other_tables_are_left_alone() -> None:
    table = pd.DataFrame({"query": ["a", "a"], "document": ["b", "c"], "label": [1, 0]})
    assert arrange(table, find_task("regression", text=["query", "document"])) is table
    assert len(arrange(table, find_task("reranking"))) == 1
