"""Do the layouts of judged documents give the same queries, and are rows named as in the file?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headcount.data.examples import read_examples
from headcount.data.judged_tables import arrange_queries
from headcount.data.read_rows import read_rows
from headcount.data.source_notes import notes_of
from headcount.data.tasks import find_task
from headcount.errors import DataProblem

TASK = find_task("retrieval")
LISTS = pd.DataFrame(
    {
        "query": ["one", "two"],
        "documents": [["a", "b", "c"], ["d", "e"]],
        "relevance": [[1.0, 0.0, 0.0], [1.0, 0.0]],
    }
)
PAIRS = pd.DataFrame(
    {
        "query": ["one", "two", "one", "one", "two"],
        "passage": ["a", "d", "b", "c", "e"],
        "score": [1.0, 1.0, 0.0, 0.0, 0.0],
    }
)
SIDES = pd.DataFrame({"query": ["one", "two"], "positive": [["a"], "d"], "negative": [["b", "c"], np.array(["e"])]})


@pytest.mark.parametrize("table", [LISTS, PAIRS, SIDES], ids=["lists", "pairs", "sides"])
def test_every_layout_gives_the_same_queries(table: pd.DataFrame) -> None:
    examples = read_examples(arrange_queries(table, TASK), TASK, None)
    assert examples.texts == [("one", ["a", "b", "c"]), ("two", ["d", "e"])]
    assert examples.labels == [[1.0, 0.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize("table", [LISTS, PAIRS, SIDES], ids=["lists", "pairs", "sides"])
def test_what_is_arranged_stays_as_it_is(table: pd.DataFrame) -> None:
    once = arrange_queries(table, TASK)
    pd.testing.assert_frame_equal(arrange_queries(once, TASK), once)


def test_lists_in_a_csv_file(tmp_path: Path) -> None:
    table = LISTS.assign(documents=LISTS["documents"].map(json.dumps), relevance=LISTS["relevance"].map(json.dumps))
    table.to_csv(tmp_path / "queries.csv", index=False)
    examples = read_examples(read_rows(tmp_path / "queries.csv", TASK), TASK, None)
    assert examples.texts[1] == ("two", ["d", "e"])
    assert examples.labels[0] == [1.0, 0.0, 0.0]


def test_a_query_has_the_row_of_its_first_pair(tmp_path: Path) -> None:
    PAIRS.assign(passage=["a", 7, "b", "c", "e"]).to_json(tmp_path / "pairs.jsonl", orient="records", lines=True)
    with pytest.raises(DataProblem, match=r"pairs\.jsonl, row 2 \(line 2\), column 'passage'"):
        read_examples(read_rows(tmp_path / "pairs.jsonl", TASK), TASK, None)


def test_queries_without_a_relevant_document_are_left_out() -> None:
    table = pd.concat([LISTS, pd.DataFrame({"query": ["three"], "documents": [["a"]], "relevance": [[0.0]]})])
    arranged = arrange_queries(table.reset_index(drop=True), TASK)
    assert arranged["query"].tolist() == ["one", "two"]
    assert notes_of(arranged.attrs) == ("1 query has no relevant document and is left out",)
    with pytest.raises(DataProblem, match="no query has a relevant document"):
        arrange_queries(LISTS.assign(relevance=[[0, 0, -1], [0, 0]]), TASK)


def test_without_judgements_documents_are_grouped_all_the_same() -> None:
    """For a teacher or a refit, which read no labels."""
    arranged = arrange_queries(PAIRS.drop(columns="score"), TASK)
    assert arranged["passage"].tolist() == [["a", "b", "c"], ["d", "e"]]


def test_rows_without_a_query_are_not_one_query() -> None:
    table = pd.concat([PAIRS, pd.DataFrame({"query": [None, " "], "passage": ["x", "y"], "score": [1.0, 0.0]})])
    arranged = arrange_queries(table.reset_index(drop=True), TASK)
    assert len(arranged) == 3, "the one without a relevant document is left out, the other counted as blank later"


def test_lists_that_are_none() -> None:
    with pytest.raises(DataProblem, match="row 0, column 'positive': got 3; expected a list of documents"):
        arrange_queries(SIDES.assign(positive=[3, "d"]), TASK)
